"""Bytes and messages that no honest client sends, without end: `make fuzz`."""
