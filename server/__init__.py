"""The server: one node of the world. It wires the world's rules to a broker and to browsers."""
