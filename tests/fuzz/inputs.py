"""What fuzzers share: the count of what they gave, the last of it, and how they say what broke."""


class Broken(Exception):
    """Something that was given broke a rule; the text says which."""


class Inputs:
    """What one fuzzer gave: how much, and what last."""

    def __init__(self) -> None:
        self.count = 0
        self.last = b""

    def add(self, data: bytes) -> None:
        """Note what is given next."""
        self.count += 1
        self.last = data
