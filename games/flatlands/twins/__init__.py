"""Twin stones: a gem between two stones, which opens for two people who stand on them."""
