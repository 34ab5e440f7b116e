package io.aqeplugin.storage

/** Times of files that an Iceberg table has imported. Of Parquet's milliseconds, Iceberg 1.12 keeps the bounds as they are in the file and takes them
  * for microseconds, also those of row groups, while it reads the rows right. So a key may be in such a file by its milliseconds.
  */
private[storage] object ImportedMillis {

  /** The milliseconds of the years 1 to 9999, with a year on each side. As microseconds, these are times from 1968 to 1978. */
  private val First = -62200000000000L
  private val Last = 253500000000000L

  private val MicrosPerMilli = 1000L

  /** What such a file has in place of a key; none if it cannot have the key. */
  def ofKey(micros: Long): Option[Long] =
    Option.when(micros % MicrosPerMilli == 0)(micros / MicrosPerMilli).filter(millis => millis >= First && millis <= Last)

  /** What such a file has in place of the keys in a range. */
  def ofRange(range: (Long, Long)): Option[(Long, Long)] = {
    val (low, high) = (math.max(First, Math.floorDiv(range._1, MicrosPerMilli)), math.min(Last, Math.floorDiv(range._2, MicrosPerMilli)))
    Option.when(low <= high)((low, high))
  }

  /** The times that a file has if its bounds are such milliseconds; none if they are not. */
  def ofBounds(low: Option[Long], high: Option[Long]): Option[(Option[Long], Option[Long])] =
    Option.when((low ++ high).forall(bound => bound >= First && bound <= Last))(
      (low.map(_ * MicrosPerMilli), high.map(_ * MicrosPerMilli))
    )
}
