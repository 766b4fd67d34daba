"""Races from signpost to signpost against the best run of those who were there before."""
