"""The second statement of queries 14, 23, 24 and 39, which DuckDB's extension lacks.

Each shares its CTEs with the first one, so it is written here as what differs.
"""

_Q14B = """
SELECT this_year.channel ty_channel, this_year.i_brand_id ty_brand, this_year.i_class_id ty_class,
       this_year.i_category_id ty_category, this_year.sales ty_sales, this_year.number_sales ty_number_sales,
       last_year.channel ly_channel, last_year.i_brand_id ly_brand, last_year.i_class_id ly_class,
       last_year.i_category_id ly_category, last_year.sales ly_sales, last_year.number_sales ly_number_sales
FROM ({this_year}) this_year,
     ({last_year}) last_year
WHERE this_year.i_brand_id = last_year.i_brand_id
  AND this_year.i_class_id = last_year.i_class_id
  AND this_year.i_category_id = last_year.i_category_id
ORDER BY this_year.channel NULLS FIRST, this_year.i_brand_id NULLS FIRST,
         this_year.i_class_id NULLS FIRST, this_year.i_category_id NULLS FIRST
LIMIT 100"""

_Q14B_WEEK = """
SELECT 'store' channel, i_brand_id, i_class_id, i_category_id,
       sum(ss_quantity * ss_list_price) sales, count(*) number_sales
FROM store_sales, item, date_dim
WHERE ss_item_sk IN (SELECT ss_item_sk FROM cross_items)
  AND ss_item_sk = i_item_sk
  AND ss_sold_date_sk = d_date_sk
  AND d_week_seq = (SELECT d_week_seq FROM date_dim WHERE d_year = {year} AND d_moy = 12 AND d_dom = 11)
GROUP BY i_brand_id, i_class_id, i_category_id
HAVING sum(ss_quantity * ss_list_price) > (SELECT average_sales FROM avg_sales)"""

_Q23A = """
SELECT sum(sales) total
FROM (SELECT cs_quantity * cs_list_price sales
      FROM catalog_sales, date_dim
      WHERE d_year = 2000 AND d_moy = 2 AND cs_sold_date_sk = d_date_sk
        AND cs_item_sk IN (SELECT item_sk FROM frequent_ss_items)
        AND cs_bill_customer_sk IN (SELECT c_customer_sk FROM best_ss_customer)
      UNION ALL
      SELECT ws_quantity * ws_list_price sales
      FROM web_sales, date_dim
      WHERE d_year = 2000 AND d_moy = 2 AND ws_sold_date_sk = d_date_sk
        AND ws_item_sk IN (SELECT item_sk FROM frequent_ss_items)
        AND ws_bill_customer_sk IN (SELECT c_customer_sk FROM best_ss_customer)) both_channels
LIMIT 100"""


def variants_of(number: int, text: str) -> list[tuple[str, str]]:
    """The named statements of query `number`, whose one known text is `text`."""
    match number:
        case 14:
            tail = _Q14B.format(this_year=_Q14B_WEEK.format(year=2000), last_year=_Q14B_WEEK.format(year=1999))
            return [("q14a", text), ("q14b", _ctes(text, "SELECT channel,") + tail)]
        case 23:
            return [
                ("q23a", _ctes(text, "SELECT c_last_name,\n       c_first_name,\n       sales") + _Q23A),
                ("q23b", text),
            ]
        case 24:
            return [("q24a", text), ("q24b", text.replace("'peach'", "'saddle'"))]
        case 39:
            return [
                ("q39a", text),
                ("q39b", text.replace("AND inv1.d_moy=1\n", "AND inv1.d_moy=1\n  AND inv1.cov > 1.5\n")),
            ]
        case _:
            return [(f"q{number}", text)]


def _ctes(text: str, main_select: str) -> str:
    """The WITH clause of `text`: everything before its main SELECT.

    Raises:
        ValueError: the text has changed since this was written.
    """
    return text[: text.index(main_select)]
