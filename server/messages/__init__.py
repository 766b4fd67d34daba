"""What is said by clients, by the server and between nodes, and on which channels.

It sends nothing.
"""
