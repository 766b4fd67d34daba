"""What lasts, as a node uses it: asks the store, reads from it, and finds who shares it."""
