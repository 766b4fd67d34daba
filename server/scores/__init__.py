"""Who has how many gems, kept the ember for longest, found which landmark, and walked here today.

All of it is kept in the store. This package never moves a player.
"""
