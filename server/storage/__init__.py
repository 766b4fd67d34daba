"""The node's client of the store, and all that it reads and writes there."""
