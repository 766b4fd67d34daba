"""Changes the code in small ways, one at a time, to see whether a test fails:
`python -m tests.mutants`."""
