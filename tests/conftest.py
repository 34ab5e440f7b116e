"""How properties are tried: as long as they take, because a busy machine is no fault of theirs."""

from hypothesis import settings

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
