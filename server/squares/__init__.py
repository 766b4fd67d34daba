"""Who hears what: the squares that this node hears and publishes in, and the other nodes.

It knows players as the world does, and no clients: only screens that hold squares.
"""
