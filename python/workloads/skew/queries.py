"""A query for each difficulty; all of them aggregate, so that few rows go to Python."""

from workloads.tpcds.queries import Query

_QUERIES = {
    # Few keys, which have nearly all events or nearly none.
    "zipf_head": """
        SELECT segment, count(*), sum(amount) FROM events JOIN users ON events.user_id = users.user_id
        WHERE users.user_id < 10 GROUP BY segment ORDER BY segment""",
    "zipf_tail": """
        SELECT segment, count(*), sum(amount) FROM events JOIN users ON events.user_id = users.user_id
        WHERE users.cohort = 997 GROUP BY segment ORDER BY segment""",
    # Half of the events pass, or none of that half.
    "heavy_key_in": """
        SELECT plan, count(*), sum(amount) FROM events JOIN accounts ON events.account_id = accounts.account_id
        WHERE plan IN (SELECT plan FROM accounts WHERE is_anonymous) GROUP BY plan""",
    "heavy_key_out": """
        SELECT plan, count(*), sum(amount) FROM events JOIN accounts ON events.account_id = accounts.account_id
        WHERE NOT is_anonymous AND plan < 10 GROUP BY plan ORDER BY plan""",
    # The pair is not as selective as its columns are.
    "correlated": """
        SELECT zone, count(*), sum(amount) FROM events JOIN regions
        ON events.region_id = regions.region_id AND events.country_id = regions.country_id
        WHERE regions.zone = 3 AND regions.country_id < 10 GROUP BY zone""",
    "many_to_many": """
        SELECT page % 10, count(*) FROM events JOIN clicks ON events.user_id = clicks.user_id
        WHERE clicks.day = 7 AND clicks.page < 20 AND clicks.user_id > 20 GROUP BY page % 10 ORDER BY 1""",
    # Small as a shuffle, large in memory.
    "wide_rows": """
        SELECT max(profile), min(note), count(*) FROM events JOIN users ON events.user_id = users.user_id
        WHERE users.segment < 25""",
    "strings": """
        SELECT cohort % 7, count(*), sum(amount) FROM events JOIN users ON events.user_code = users.user_code
        WHERE users.segment = 4 GROUP BY cohort % 7 ORDER BY 1""",
    "decimals": """
        SELECT category, count(*), sum(amount) FROM events JOIN items ON events.price_code = items.price_code
        WHERE items.category BETWEEN 20 AND 40 GROUP BY category ORDER BY category""",
    "snowflake": """
        SELECT zone, category, count(*), sum(amount) FROM events
        JOIN users ON events.user_id = users.user_id JOIN items ON events.item_id = items.item_id
        JOIN regions ON events.region_id = regions.region_id
        WHERE users.segment < 5 AND items.category > 30 AND regions.zone <> 2
        GROUP BY zone, category ORDER BY zone, category""",
    "kept_rows": """
        SELECT count(*), count(users.user_id), sum(amount)
        FROM events LEFT JOIN users ON events.user_id = users.user_id AND users.segment = 9
        WHERE events.item_id < 500""",
}


def skew_queries() -> dict[str, Query]:
    """All of them by name; both engines read the same text."""
    return {name: Query(name, text.strip(), text.strip()) for name, text in _QUERIES.items()}
