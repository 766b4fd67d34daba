"""Latency against concurrency: up to 65,536 connections that mostly do nothing.

It never knows what is played. docs/connections.md has the commands, and how to read the figures.
"""
