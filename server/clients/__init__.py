"""What clients ask and are told: the player on a connection, from hello to goodbye."""
