"""What an author's game sees, and what calls it."""
