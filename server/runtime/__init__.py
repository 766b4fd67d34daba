"""The base of all parts of a server: the event loop, timers, limits, logs."""
