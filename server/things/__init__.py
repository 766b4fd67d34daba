"""What lasts in the world, kept in the store: gems, and who has how many of them.

What anybody sees of it comes by the channels of squares. This package never moves a player.
"""
