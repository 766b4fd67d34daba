"""Small changes of the code, one at a time: does a test fail? `python -m tests.mutants`"""
