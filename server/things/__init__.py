"""What lasts in the world, kept in the store: gems, who has how many of them, and cairns.

What anybody sees of it comes by the channels of squares. This package never moves a player.
"""
