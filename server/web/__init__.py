"""The pages that a server shows over HTTP: the game, and the pages of operators."""
