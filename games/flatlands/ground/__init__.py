"""The ground of Flatlands: what stands there as a function of the seed."""
