"""Gardens in a real browser."""
