package io.aqeplugin.tell

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.decide._

/** [[JoinFacts]] as JSON, under the names of the fields. Values that were not measured are null. [[EventSchema]] describes each field. */
private[tell] object FactsJson {

  def write(facts: JoinFacts): ObjectNode = {
    val node = JsonFields.emptyObject
    node.put("joinId", facts.joinId).put("kind", facts.kind.name)
    facts.keys.foreach(node.putArray("keys").add)
    if (facts.keys.isEmpty) node.putArray("keys")
    node.put("buildSide", facts.buildSide.name)
    node.set[ObjectNode]("build", writeBuild(facts.build))
    node.set[ObjectNode]("probe", writeProbe(facts.probe))
    node.putObject("cluster").put("slots", facts.cluster.slots).put("executors", facts.cluster.executors)
    node.put("hint", facts.hint.orNull)
    node.put("sparkStrategy", facts.sparkStrategy.name).put("canBroadcast", facts.canBroadcast)
    node.put("filterObstacle", facts.filterObstacle.map(_.name).orNull)
    facts.waiting.fold(node.putNull("waiting"))(waiting => node.set[ObjectNode]("waiting", ReasonJson.writeWait(waiting)))
    facts.memory.fold(node.putNull("memory")) { memory =>
      val inner = node.putObject("memory").put("limitBytes", memory.limitBytes).put("heldBytes", memory.heldBytes)
      put(inner, "taskBytes", memory.taskBytes)
      inner.put("hashedBytes", memory.hashedBytes).put("pageBytes", memory.pageBytes)
      node
    }
    node.put("orderUsed", facts.orderUsed).put("written", facts.written)
  }

  def read(fields: JsonFields): Either[String, JoinFacts] = for {
    joinId <- fields.text("joinId")
    kind <- fields.named("kind", JoinKind.fromName)
    keys <- fields.texts("keys")
    buildSide <- fields.named("buildSide", Side.fromName)
    build <- fields.inner("build")(readBuild)
    probe <- fields.inner("probe")(readProbe)
    cluster <- fields.inner("cluster")(readCluster)
    hint <- fields.optionalText("hint")
    sparkStrategy <- fields.named("sparkStrategy", Strategy.fromName)
    canBroadcast <- fields.boolean("canBroadcast")
    filterObstacle <- fields.optionalNamed("filterObstacle", ReasonCode.fromName)
    waiting <- fields.optionalInner("waiting")(ReasonJson.readWait)
    memory <- fields.optionalInner("memory")(readMemory)
    orderUsed <- fields.optionalBoolean("orderUsed")
    written <- fields.optionalBoolean("written")
  } yield JoinFacts(
    joinId,
    kind,
    keys,
    buildSide,
    build,
    probe,
    cluster,
    hint,
    sparkStrategy,
    canBroadcast,
    filterObstacle,
    waiting,
    memory,
    orderUsed.getOrElse(false),
    written.getOrElse(false)
  )

  private def readMemory(fields: JsonFields): Either[String, MemoryFacts] = for {
    limitBytes <- fields.long("limitBytes")
    heldBytes <- fields.long("heldBytes")
    taskBytes <- fields.optionalLong("taskBytes")
    hashedBytes <- fields.optionalLong("hashedBytes")
    pageBytes <- fields.optionalLong("pageBytes")
  } yield MemoryFacts(limitBytes, heldBytes, taskBytes, hashedBytes.getOrElse(0L), pageBytes.getOrElse(0L))

  private def writeBuild(build: BuildFacts): ObjectNode = {
    val node = JsonFields.emptyObject
    node.put("rows", build.rows).put("stageBytes", build.stageBytes).put("memoryBytesPerRow", build.memoryBytesPerRow)
    node.put("partitions", build.partitions)
    node.put("maxPartitionBytes", build.maxPartitionBytes).put("medianPartitionBytes", build.medianPartitionBytes)
    put(node, "originRows", build.originRows).put("alreadyBroadcast", build.alreadyBroadcast)
    node.set[ObjectNode]("keys", writeKeys(build.keys))
    node.put("unmeasuredColumns", build.unmeasuredColumns)
    putSource(node, "originRowsSource", build.originRowsSource)
    node.put("exchanges", build.exchanges)
  }

  private def readBuild(fields: JsonFields): Either[String, BuildFacts] = for {
    rows <- fields.long("rows")
    stageBytes <- fields.long("stageBytes")
    memoryBytesPerRow <- fields.long("memoryBytesPerRow")
    partitions <- fields.int("partitions")
    maxPartitionBytes <- fields.long("maxPartitionBytes")
    medianPartitionBytes <- fields.long("medianPartitionBytes")
    originRows <- fields.optionalLong("originRows")
    alreadyBroadcast <- fields.boolean("alreadyBroadcast")
    keys <- fields.inner("keys")(readKeys)
    unmeasuredColumns <- fields.optionalLong("unmeasuredColumns")
    originRowsSource <- fields.optionalNamed("originRowsSource", EstimateSource.fromName)
    exchanges <- fields.optionalLong("exchanges")
  } yield BuildFacts(
    rows,
    stageBytes,
    memoryBytesPerRow,
    partitions,
    maxPartitionBytes,
    medianPartitionBytes,
    originRows,
    alreadyBroadcast,
    keys,
    unmeasuredColumns.fold(0)(_.max(0L).min(Int.MaxValue).toInt),
    originRowsSource,
    exchanges.fold(0)(_.max(0L).min(Int.MaxValue).toInt)
  )

  private def writeProbe(probe: ProbeFacts): ObjectNode = {
    val node = JsonFields.emptyObject
    node.put("rows", probe.rows).put("scanRows", probe.scanRows).put("rowBytes", probe.rowBytes)
    node.put("exchanges", probe.exchanges).put("started", probe.started).put("targets", probe.targets)
    probe.keys.fold(node.putNull("keys"))(keys => node.set[ObjectNode]("keys", writeKeys(keys)))
    putSource(node, "rowsSource", probe.rowsSource)
    putSource(node, "scanRowsSource", probe.scanRowsSource)
    node.put("prunableBytes", probe.prunableBytes).put("otherUsesPassRate", probe.otherUsesPassRate)
    val path = node.putArray("path")
    probe.path.foreach(step => path.add(writeStep(step)))
    put(node, "scanRowsBefore", probe.scanRowsBefore)
    node.put("beforeExchange", probe.beforeExchange)
    probe.sample.fold(node.putNull("sample")) { sample =>
      node.putObject("sample").put("rows", sample.rows).put("matches", sample.matches).put("independentRows", sample.independentRows)
      node
    }
  }

  private def readSample(fields: JsonFields): Either[String, SampledKeys] =
    for {
      rows <- fields.long("rows")
      matches <- fields.long("matches")
      independentRows <- fields.double("independentRows")
    } yield SampledKeys(rows, matches, independentRows)

  private def writeStep(step: PathStep): ObjectNode = {
    val node = JsonFields.emptyObject.put("work", step.name).put("rows", step.rows)
    def number(of: PartialFunction[PathStep, Long]): Option[Long] = of.lift(step)
    val rowBytes = number {
      case PathStep.Shuffle(_, bytes)            => bytes
      case PathStep.Broadcast(_, bytes, _)       => bytes
      case PathStep.FilterSource(_, _, _, bytes) => bytes
    }
    put(node, "rowBytes", rowBytes)
    put(node, "partitions", number { case PathStep.Sort(_, partitions) => partitions.toLong })
    put(node, "tableRows", number { case PathStep.Lookup(_, rows, _, _) => rows })
    put(node, "tableRowBytes", number { case PathStep.Lookup(_, _, bytes, _) => bytes })
    val probeRows = number {
      case PathStep.Broadcast(_, _, rows)       => rows
      case PathStep.FilterSource(_, _, rows, _) => rows
    }
    put(node, "probeRows", probeRows)
    put(node, "keys", number { case PathStep.FilterSource(_, keys, _, _) => keys })
    val scanBytes = number {
      case PathStep.Shared(_, bytes, _) => bytes
    }
    put(node, "scanBytes", scanBytes)
    step match {
      case PathStep.Shared(_, _, share) => node.put("share", share)
      case _                            => node.putNull("share")
    }
    step match {
      case PathStep.Lookup(_, _, _, byRow) => node.put("byRow", byRow)
      case _                               => node.putNull("byRow")
    }
  }

  private def readStep(fields: JsonFields): Either[String, PathStep] = for {
    work <- fields.named("work", name => PathStep.Names.find(_ == name))
    rows <- fields.long("rows")
    step <- work match {
      case PathStep.ShuffleName => fields.long("rowBytes").map(PathStep.Shuffle(rows, _))
      case PathStep.SortName    => fields.int("partitions").map(PathStep.Sort(rows, _))
      case PathStep.MergeName   => Right(PathStep.Merge(rows))
      case PathStep.LookupName  =>
        for {
          tableRows <- fields.long("tableRows")
          tableRowBytes <- fields.long("tableRowBytes")
          byRow <- fields.optionalBoolean("byRow")
        } yield PathStep.Lookup(rows, tableRows, tableRowBytes, byRow.getOrElse(false))
      case PathStep.BroadcastName =>
        for (rowBytes <- fields.long("rowBytes"); probeRows <- fields.long("probeRows")) yield PathStep.Broadcast(rows, rowBytes, probeRows)
      case PathStep.SharedName =>
        for (scanBytes <- fields.long("scanBytes"); share <- fields.double("share")) yield PathStep.Shared(rows, scanBytes, share)
      case PathStep.FilterSourceName =>
        for (keys <- fields.long("keys"); probeRows <- fields.long("probeRows"); rowBytes <- fields.long("rowBytes"))
          yield PathStep.FilterSource(rows, keys, probeRows, rowBytes)
      case _ => Right(PathStep.Group(rows))
    }
  } yield step

  private def readProbe(fields: JsonFields): Either[String, ProbeFacts] = for {
    rows <- fields.long("rows")
    scanRows <- fields.long("scanRows")
    rowBytes <- fields.long("rowBytes")
    exchanges <- fields.int("exchanges")
    started <- fields.boolean("started")
    targets <- fields.int("targets")
    keys <- fields.optionalInner("keys")(readKeys)
    rowsSource <- fields.optionalNamed("rowsSource", EstimateSource.fromName)
    scanRowsSource <- fields.optionalNamed("scanRowsSource", EstimateSource.fromName)
    prunableBytes <- fields.optionalLong("prunableBytes")
    otherUses <- fields.optionalDouble("otherUsesPassRate")
    path <- fields.optionalInners("path")(readStep)
    scanRowsBefore <- fields.optionalLong("scanRowsBefore")
    beforeExchange <- fields.optionalBoolean("beforeExchange")
    sample <- fields.optionalInner("sample")(readSample)
  } yield ProbeFacts(
    rows,
    scanRows,
    rowBytes,
    exchanges,
    started,
    targets,
    keys,
    rowsSource,
    scanRowsSource,
    prunableBytes.getOrElse(0L),
    otherUses.getOrElse(0.0),
    path,
    scanRowsBefore,
    beforeExchange.contains(true),
    sample
  )

  private def writeKeys(keys: KeyFacts): ObjectNode = {
    val node = JsonFields.emptyObject
    node.put("columns", keys.columns).put("supported", keys.supported)
    put(node, "distinct", keys.distinct)
    put(node, "nulls", keys.nulls)
    put(node, "min", keys.min)
    put(node, "max", keys.max)
    val histogram = node.putArray("histogram")
    keys.histogram.foreach(bucket => histogram.addObject().put("low", bucket.low).put("high", bucket.high).put("rows", bucket.rows))
    put(node, "originDistinct", keys.originDistinct).put("kept", keys.kept).put("asRange", keys.asRange)
      .put("byRow", keys.byRow).put("hashed", keys.hashed).put("computed", keys.computed)
  }

  private def readKeys(fields: JsonFields): Either[String, KeyFacts] = for {
    columns <- fields.int("columns")
    supported <- fields.boolean("supported")
    distinct <- fields.optionalLong("distinct")
    nulls <- fields.optionalLong("nulls")
    min <- fields.optionalLong("min")
    max <- fields.optionalLong("max")
    histogram <- fields.inners("histogram")(readBucket)
    originDistinct <- fields.optionalLong("originDistinct")
    kept <- fields.optionalBoolean("kept")
    asRange <- fields.optionalBoolean("asRange")
    byRow <- fields.optionalBoolean("byRow")
    hashed <- fields.optionalBoolean("hashed")
    computed <- fields.optionalLong("computed")
  } yield KeyFacts(
    columns,
    supported,
    distinct,
    nulls,
    min,
    max,
    histogram,
    originDistinct,
    kept.contains(true),
    asRange.contains(true),
    byRow.contains(true),
    hashed.contains(true),
    computed.fold(0)(_.min(Int.MaxValue.toLong).toInt)
  )

  private def readBucket(fields: JsonFields): Either[String, KeyBucket] = for {
    low <- fields.long("low")
    high <- fields.long("high")
    rows <- fields.long("rows")
  } yield KeyBucket(low, high, rows)

  private def readCluster(fields: JsonFields): Either[String, ClusterFacts] = for {
    slots <- fields.int("slots")
    executors <- fields.int("executors")
  } yield ClusterFacts(slots, executors)

  private def putSource(node: ObjectNode, name: String, source: Option[EstimateSource]): ObjectNode =
    node.put(name, source.map(_.name).orNull)

  private def put(node: ObjectNode, name: String, value: Option[Long]): ObjectNode = value.fold(node.putNull(name))(node.put(name, _))
}
