"""Games of authors, as docs/games.md teaches them, with their tests: examples of the kit."""
