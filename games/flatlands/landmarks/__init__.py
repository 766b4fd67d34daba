"""Landmarks: where each part of the world has one, and who has found it."""
