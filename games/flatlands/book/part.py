"""What Flatlands takes of this folder: see game.py."""

from flatlands.games.flatlands.book.almanac import Almanac
from flatlands.games.flatlands.book.book import Book

PARTS = (Book, Almanac)
