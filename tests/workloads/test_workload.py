"""A workload says what its tables are made from, before any is made."""

import pytest

from workloads.workload import WORKLOADS, workload


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_tables_of_another_scale_have_another_definition(name: str) -> None:
    definition = workload(name, 0.01).tables
    assert definition == workload(name, 0.01).tables
    assert definition != workload(name, 0.02).tables


def test_tables_of_another_workload_have_another_definition() -> None:
    assert len({workload(name, 1).tables for name in WORKLOADS}) == len(WORKLOADS)
