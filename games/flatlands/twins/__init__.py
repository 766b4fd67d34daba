"""Twin stones: a gem between two stones, which opens for two persons who stand on them."""
