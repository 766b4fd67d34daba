"""The games that come with Flatlands: each is a package here, named as `--game` names it.

Nothing outside imports them by name: server/games.py loads the one that is played.
"""
