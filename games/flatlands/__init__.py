"""Flatlands itself: gems, cairns, the ember, landmarks, and computer players."""
