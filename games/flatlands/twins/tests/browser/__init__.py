"""Twin stones in a real browser."""
