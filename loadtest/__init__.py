"""Load tests: the swarm (bots.py), chaos, and studies that repeat source documents."""
