"""Bytes and messages that nobody of good will sends, without end: `make fuzz`."""
