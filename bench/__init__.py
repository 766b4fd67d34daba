"""How fast Flatlands is: figures beside targets, and beside those of the last recorded run."""
