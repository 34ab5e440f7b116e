package io.aqeplugin.observe

import io.aqeplugin.decide.Reason

/** A filter that was, or was not, put in one place, a scan or the input of an exchange. */
final case class PlacedFilter(filterId: String, joinId: String, table: String, scanColumns: Seq[String], applied: Boolean, reason: Reason)
