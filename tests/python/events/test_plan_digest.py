"""Which queries with the same joins compute the same, by the plans in Spark's events."""

from __future__ import annotations

import pytest

from aqe_plugin.events.lines import parse_event
from aqe_plugin.events.model import ExecutionStarted
from aqe_plugin.events.plan_digest import plan_digest, plan_parts
from samples import started

# As Spark 4.1 writes it for TPC-DS q93, shortened.
PLAN = """== Physical Plan ==
AdaptiveSparkPlan (30)
+- HashAggregate (29)
      +- Filter (15)
         +- Scan parquet  (14)


(14) Scan parquet
Output [2]: [r_reason_sk#0L, r_reason_desc#2]
PartitionFilters: [isnotnull(d#3L), (d#3L = 20)]
PushedFilters: [IsNotNull(r_reason_desc), EqualTo(r_reason_desc,reason 28), GreaterThan(r_reason_sk,7)]

(15) Filter
Input [2]: [r_reason_sk#0L, r_reason_desc#2]
Condition : ((isnotnull(r_reason_desc#2) AND (r_reason_desc#2 = reason 28)) AND (cast(r_reason_sk#0L as bigint) > 7))

(29) HashAggregate
Functions [1]: [partial_sum(act_sales#74)]
"""
INFERRED = (
    PLAN.replace("AND (cast", "AND (store_returns.sr_reason_sk#11L > 7) AND (cast")
    .replace("PushedFilters: [", "PushedFilters: [IsNotNull(sr_reason_sk), GreaterThan(sr_reason_sk,7), ")
    .replace("(15)", "(17)")
)


def digest(plan: str, *bounds: str) -> str:
    return plan_digest(plan_parts(plan), bounds)


@pytest.mark.parametrize("same", [PLAN.replace("#2", "#102").replace("#0L", "#100L"), INFERRED])
def test_ids_of_columns_numbers_of_operators_and_inferred_predicates_change_nothing(same: str) -> None:
    assert digest(same) == digest(PLAN) != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= reason 28", "= reason 29"),
        ("d#3L = 20", "d#3L = 21"),
        ("EqualTo(r_reason_desc,reason 28)", "EqualTo(r_reason_desc,reason 29)"),
        ("partial_sum", "partial_avg"),
        ("AdaptiveSparkPlan (30)", "Execute InsertIntoHadoopFsRelationCommand (30)"),
    ],
)
def test_a_constant_a_function_and_a_command_make_another_query(old: str, new: str) -> None:
    assert old in PLAN
    assert digest(PLAN.replace(old, new)) != digest(PLAN)


def test_a_bound_that_was_inferred_is_left_out_of_a_plan_with_it_and_of_one_without() -> None:
    bound = "(r_reason_sk <= 498L)"
    applied = PLAN.replace("AND (cast", "AND (r_reason_sk#0L <= 498) AND (cast")
    assert digest(applied) != digest(PLAN)
    assert digest(applied, bound) == digest(PLAN, bound) == digest(PLAN)


def test_a_start_without_a_plan_has_no_digest_and_one_with_a_plan_has_its_own() -> None:
    assert digest("") == ""
    found = parse_event(started(plan=PLAN, force="*=no_filter"))
    assert found == ExecutionStarted(7, "q93", 1_700_000_000_000, plan_parts(PLAN), "*=no_filter", 7)
