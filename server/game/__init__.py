"""The API of games for their authors, and the calls of games by the node."""
