"""Modules that all programs of loadtest/ share, and tests/ and bench/ too.

They start and end programs and brokers, read options, obey signals, count latencies, describe the
machine, and draw charts and pages. They never know what is measured.
"""
