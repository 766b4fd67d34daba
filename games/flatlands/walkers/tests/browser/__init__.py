"""Computer players in a real browser."""
