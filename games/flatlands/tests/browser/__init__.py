"""The page of Flatlands in a real browser."""
