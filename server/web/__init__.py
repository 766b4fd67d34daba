"""The pages that a server shows: the game, and what operators see and order."""
