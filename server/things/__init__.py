"""What lies in the world: gems and cairns, kept in the store.

What anybody sees of it comes by the channels of squares. This package never moves a player.
"""
