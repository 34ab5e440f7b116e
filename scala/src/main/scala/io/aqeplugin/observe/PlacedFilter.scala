package io.aqeplugin.observe

import io.aqeplugin.decide.{Reason, Told}

/** A filter that was, or was not, put in one place, a scan or the input of an exchange. */
@Told(name = "FilterPlanned", doc = "one filter in one place, as planned")
final case class PlacedFilter(
    @Told(doc = "identifies one filter in one place, on a scan or in front of an exchange") filterId: String,
    @Told(doc = "the join whose keys the filter holds") joinId: String,
    @Told(doc = PlacedFilter.Places) table: String,
    @Told(doc = "the checked columns") scanColumns: Seq[String],
    @Told(doc = "whether the filter is in the plan") applied: Boolean,
    @Told(doc = "why the filter was placed or not") reason: Reason
)

object PlacedFilter {
  final val Places = "the scanned table; `(shuffle)` or `(broadcast)` of a filter in front of that exchange"
}
