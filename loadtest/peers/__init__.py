"""The same work on other realtime servers, and on Flatlands: `python -m loadtest.peers --help`.

What is compared, and how, is told in docs/peers.md. `servers/` holds the peers, each a program of
its own; nothing else here knows their packages.
"""
