"""What every program of loadtest/ needs, tests and bench/ too: nothing here knows what is measured.

It starts and ends programs and brokers, reads options, obeys signals, counts latencies, describes
the machine, and draws charts and pages.
"""
