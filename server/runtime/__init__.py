"""What every part of a server uses: the event loop, timers, limits, logs."""
