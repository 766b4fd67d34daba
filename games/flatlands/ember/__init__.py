"""The ember: a relay from fire to fire."""
