"""Does the same work on Flatlands and on other realtime servers.

docs/peers.md says what is compared, and how. `servers/` holds the other servers, the peers; each is
a separate program. Nothing else here knows their packages.
"""
