"""Blooms: squares that bloom for a day because three people have danced there."""
