"""Which node, and which machine, has a player or a part of the world."""
