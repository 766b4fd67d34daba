"""What lasts: the node's client of the store, and what it reads and writes there."""
