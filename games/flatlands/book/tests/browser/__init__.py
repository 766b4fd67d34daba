"""The book and the almanac in a real browser."""
