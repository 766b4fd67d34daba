"""The games that come with Flatlands: each is a package here, with the name that `--game` takes.
The modules beside them are parts that any game can have: chat.py and mushrooms.py.

No module of the server imports them by name: server/game/loader.py loads the game that is played.
"""
