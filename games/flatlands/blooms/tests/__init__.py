"""The tests of Flatlands: on the harness, of its page in a browser, and of its JavaScript."""
