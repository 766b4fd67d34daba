"""Gems: where they lie, who takes them, and who has how many."""
