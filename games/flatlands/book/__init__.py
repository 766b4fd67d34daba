"""The book of each person: what it has found and done, and what others did for it."""

from flatlands.games.flatlands.book.almanac import Almanac
from flatlands.games.flatlands.book.book import Book

PARTS = (Book, Almanac)
PLACE = 70
