"""Blooms: squares that bloom for a day, since three people have danced there."""
