"""The book of each person: what it has found and done, and what others did for it."""
