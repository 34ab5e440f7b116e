"""The four dashboards: what the whole fleet does, one application, whether decisions were right, and what to tune."""

from __future__ import annotations

from monitoring.dashboards.application import APPLICATION
from monitoring.dashboards.fleet import FLEET
from monitoring.dashboards.quality import QUALITY
from monitoring.dashboards.tuning import TUNING

__all__ = ["DASHBOARDS"]

DASHBOARDS = (FLEET, APPLICATION, QUALITY, TUNING)
