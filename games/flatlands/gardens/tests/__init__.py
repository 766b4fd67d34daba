"""The tests of gardens and worn paths."""
