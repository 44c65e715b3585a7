from hypothesis import HealthCheck, settings

# How long an example takes says something about the machine and its load, not about the code.
settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
