package io.aqeplugin.observe

import io.aqeplugin.decide.Reason

/** A filter that was, or was not, placed on one scan. */
final case class PlacedFilter(filterId: String, joinId: String, table: String, scanColumns: Seq[String], applied: Boolean, reason: Reason)
