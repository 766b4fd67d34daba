"""Flatlands: an endless two-dimensional world in which every square is a publish-subscribe channel.

Its parts are folders beside this one, which has a symbolic link to each: so they are one package,
with names that collide with nobody's, wherever it is installed. To import it patches nothing, opens
nothing and starts nothing.
"""

import os

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "server")):
    raise ImportError(
        "this copy of Flatlands has lost its symbolic links: clone it anew where the system has "
        "them (on Windows in developer mode, with git config --global core.symlinks true)"
    )
