"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# No test asserts a speed: on a busy machine any example may take a while.
settings.register_profile(
    "flatlands", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("flatlands")
