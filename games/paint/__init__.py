"""Paint the floor: who walks paints, and a board counts the tiles."""
