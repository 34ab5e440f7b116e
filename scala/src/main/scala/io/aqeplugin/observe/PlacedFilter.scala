package io.aqeplugin.observe

import io.aqeplugin.decide.Reason

/** A filter as it was placed, or not placed, on one scan. */
final case class PlacedFilter(filterId: String, joinId: String, table: String, scanColumns: Seq[String], applied: Boolean, reason: Reason)
