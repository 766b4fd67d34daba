"""Twin stones: a gem between two stones, which opens for two who stand on them."""
