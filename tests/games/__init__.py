"""Games of authors, as docs/games/ teaches them, with their tests: examples of the kit."""
