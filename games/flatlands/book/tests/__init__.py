"""The tests of the book and the almanac."""
