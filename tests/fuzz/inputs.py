"""The record of a fuzzer's inputs, and the exception for an input that broke a rule."""


class Broken(Exception):
    """An input has broken a rule; the text says which."""


class Inputs:
    """The number of inputs that a fuzzer has given so far, and the last one."""

    def __init__(self) -> None:
        self.count = 0
        self.last = b""

    def add(self, data: bytes) -> None:
        """Note an input that is about to be given."""
        self.count += 1
        self.last = data
