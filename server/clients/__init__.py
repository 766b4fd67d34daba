"""What clients ask and are told: admission, the session of a player on a connection, tokens."""
