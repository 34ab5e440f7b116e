"""The thresholds by name and type, for type checkers and editors.

Generated from scala/src/main/scala/io/aqeplugin/conf/AqeConf.scala by `make docs`; do not edit.
"""

from typing import Generic, TypedDict, TypeVar

N = TypeVar("N", bound=float)

class Threshold(Generic[N]):
    def __get__(self, thresholds: object, owner: type) -> N: ...
    def __set__(self, thresholds: object, value: N | str) -> None: ...

class ThresholdChanges(TypedDict, total=False):
    filter_false_positive_rate: float | str
    filter_max_bytes: int | str
    filter_exact_max_keys: int | str
    filter_in_list_max_keys: int | str
    filter_build_timeout: int | str
    filter_slot_timeout: int | str
    sketch_max_keys: int | str
    sample_min_rows: int | str
    filter_max_pass_rate: float | str
    filter_max_per_scan: int | str
    filter_min_probe_rows: int | str
    filter_composite_factor: float | str
    filter_self_disable_sample_batches: int | str
    filter_self_disable_max_pass_rate: float | str
    filter_self_disable_skip_batches: int | str
    broadcast_max_memory_bytes: int | str
    broadcast_max_rows: int | str
    broadcast_hash_bytes_per_row: int | str
    shuffled_hash_max_share: float | str
    memory_max_share: float | str
    wait_saving_share: float | str
    wait_kept_per_predicate: float | str
    wait_max_idle: int | str
    wait_check_after: int | str
    wait_limit: int | str
    cost_shuffle_nanos_per_byte: float | str
    cost_shuffle_nanos_per_row: float | str
    cost_sort_nanos_per_comparison: float | str
    cost_merge_nanos_per_row: float | str
    cost_hash_build_nanos_per_row: float | str
    cost_hash_probe_nanos_per_row: float | str
    cost_hash_miss_nanos_per_row: float | str
    cost_collect_nanos_per_byte: float | str
    cost_broadcast_nanos_per_byte: float | str
    cost_filter_build_nanos_per_row: float | str
    cost_filter_check_nanos_per_row: float | str
    cost_filter_hash_nanos_per_column: float | str
    cost_filter_miss_nanos_per_row: float | str
    cost_row_pipeline_nanos_per_row: float | str
    cost_scan_nanos_per_byte: float | str
    cost_file_open_nanos: float | str
    cost_job_launch_nanos: float | str
    cost_look_nanos_per_join: float | str
    cost_engine_ratio: float | str
    cost_engine_filter_ratio: float | str
    cost_tie_ratio: float | str
    limit_max_footers: int | str
    limit_footer_timeout: int | str
    limit_first_splits: int | str
    limit_growth: float | str
    limit_max_splits: int | str

class ThresholdFields:
    filter_false_positive_rate: Threshold[float]
    filter_max_bytes: Threshold[int]
    filter_exact_max_keys: Threshold[int]
    filter_in_list_max_keys: Threshold[int]
    filter_build_timeout: Threshold[int]
    filter_slot_timeout: Threshold[int]
    sketch_max_keys: Threshold[int]
    sample_min_rows: Threshold[int]
    filter_max_pass_rate: Threshold[float]
    filter_max_per_scan: Threshold[int]
    filter_min_probe_rows: Threshold[int]
    filter_composite_factor: Threshold[float]
    filter_self_disable_sample_batches: Threshold[int]
    filter_self_disable_max_pass_rate: Threshold[float]
    filter_self_disable_skip_batches: Threshold[int]
    broadcast_max_memory_bytes: Threshold[int]
    broadcast_max_rows: Threshold[int]
    broadcast_hash_bytes_per_row: Threshold[int]
    shuffled_hash_max_share: Threshold[float]
    memory_max_share: Threshold[float]
    wait_saving_share: Threshold[float]
    wait_kept_per_predicate: Threshold[float]
    wait_max_idle: Threshold[int]
    wait_check_after: Threshold[int]
    wait_limit: Threshold[int]
    cost_shuffle_nanos_per_byte: Threshold[float]
    cost_shuffle_nanos_per_row: Threshold[float]
    cost_sort_nanos_per_comparison: Threshold[float]
    cost_merge_nanos_per_row: Threshold[float]
    cost_hash_build_nanos_per_row: Threshold[float]
    cost_hash_probe_nanos_per_row: Threshold[float]
    cost_hash_miss_nanos_per_row: Threshold[float]
    cost_collect_nanos_per_byte: Threshold[float]
    cost_broadcast_nanos_per_byte: Threshold[float]
    cost_filter_build_nanos_per_row: Threshold[float]
    cost_filter_check_nanos_per_row: Threshold[float]
    cost_filter_hash_nanos_per_column: Threshold[float]
    cost_filter_miss_nanos_per_row: Threshold[float]
    cost_row_pipeline_nanos_per_row: Threshold[float]
    cost_scan_nanos_per_byte: Threshold[float]
    cost_file_open_nanos: Threshold[float]
    cost_job_launch_nanos: Threshold[float]
    cost_look_nanos_per_join: Threshold[float]
    cost_engine_ratio: Threshold[float]
    cost_engine_filter_ratio: Threshold[float]
    cost_tie_ratio: Threshold[float]
    limit_max_footers: Threshold[int]
    limit_footer_timeout: Threshold[int]
    limit_first_splits: Threshold[int]
    limit_growth: Threshold[float]
    limit_max_splits: Threshold[int]
