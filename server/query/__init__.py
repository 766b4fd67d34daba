"""`python -m server.query`: queries the world in SQL.

It joins the world's broker as a node that hosts nobody, and reads the world's store. No server does
anything for it that it would not do for another node.
"""
