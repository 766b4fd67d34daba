"""A swarm of clients without screens, and the oracle that judges what the server sent them.

It follows docs/protocol.md over real sockets, and never imports the game's own code.
"""
