"""The games that come with Flatlands: each is a package here, with the name that `--game` takes.

Nothing outside imports them by name: server/game/games.py loads the one that is played.
"""
