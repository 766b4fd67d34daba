"""Studies: programs that repeat a source document or compare servers, and guard nothing.

Each is a module or a folder here, on one skeleton (study.py), with its tests in tests/.
`python -m loadtest.studies` lists them.
"""
