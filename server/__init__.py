"""The server, a node of the world: it joins the world's rules with a broker and with browsers."""
