"""Flatlands itself: gems, cairns, the ember, landmarks, and those who walk there by clockwork."""
