"""What the objects on the tests' API server hold of the changes that machines made."""

from __future__ import annotations

import json

from api_server import ApiServer
from aqe_plugin.conf.stores.shared_state import unpacked
from aqe_plugin.conf.syntax.properties import parse_properties
from live_objects import CONFIGMAP, Machine

ANNOTATION = "aqeplugin.io/state.spark-defaults.conf"
ANN, BOB = "ann@host-ann", "bob@host-bob"
COPY_SHOWN = "What is shown of journal and rollouts is this machine's copy."


def conf(api: ApiServer) -> str:
    return str(api.objects[CONFIGMAP]["data"]["spark-defaults.conf"])


def setting(api: ApiServer, key: str) -> str | None:
    return parse_properties(conf(api).encode(), "conf").get(f"spark.aqePlugin.{key}")


def annotated(api: ApiServer, path: str = CONFIGMAP) -> dict[str, str]:
    found: dict[str, str] = api.objects[path]["metadata"].get("annotations", {})
    return found


def shared_lines(api: ApiServer) -> list[dict[str, object]]:
    """The journal that the object holds."""
    log = unpacked(annotated(api)[ANNOTATION], "here").logs["journal.jsonl"]
    return [json.loads(line) for line in log.splitlines()]


def cem(like: Machine) -> Machine:
    """A machine that has nothing of what the others recorded."""
    return Machine(like.here, like.state.with_name("cem"))
