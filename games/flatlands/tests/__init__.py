"""The tests of Flatlands: over the harness, of its page in a browser, and of its JavaScript."""
