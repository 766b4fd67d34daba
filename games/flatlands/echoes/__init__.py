"""Races from signpost to signpost, against the best run so far."""
