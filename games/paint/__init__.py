"""Paint the floor: players paint the tiles that they walk on, and a board counts them."""
