package io.aqeplugin.docs

import java.util.Locale

import io.aqeplugin.conf.AqeConf
import io.aqeplugin.decide._
import io.aqeplugin.tell.DecisionJson

/** The generated parts of `docs/reference/reasons.md`, and the reason codes for the Python half. */
object DecisionDocs {
  private val Page = "docs/reference/reasons.md"

  lazy val All: Seq[Generated] = Seq(
    GeneratedSection(Page, "coefficients", coefficients),
    GeneratedSection(Page, "example", example),
    GeneratedSection(Page, "estimate sources", estimateSources),
    GeneratedSection(Page, "pass rate sources", passRateSources),
    GeneratedSection(Page, "reason codes", reasonCodes),
    GeneratedFile.json("aqe_plugin/events/reason_codes.json") { root =>
      val codes = root.put("schemaVersion", DecisionJson.SchemaVersion).putArray("codes")
      ReasonCode.All.foreach { code =>
        val node = codes.addObject().put("code", code.name).put("topic", code.topic.name).put("meaning", code.meaning)
        node.put("example", ReasonExamples.of(code))
      }
    }
  )

  /** Approximately the join of TPC-DS q93 at scale factor 10: `store_sales` with the `store_returns` of one reason. */
  val ExampleJoin: JoinFacts = JoinFacts(
    joinId = "example",
    kind = JoinKind.Inner,
    keys = Seq("ss_item_sk = sr_item_sk", "ss_ticket_number = sr_ticket_number"),
    buildSide = Side.Right,
    build = BuildFacts(
      rows = 44000,
      stageBytes = 900000,
      memoryBytesPerRow = 32,
      partitions = 200,
      maxPartitionBytes = 5400,
      medianPartitionBytes = 4500,
      originRows = Some(2880000L),
      alreadyBroadcast = false,
      keys = KeyFacts(columns = 2, supported = true)
    ),
    probe = ProbeFacts(rows = 28800000, scanRows = 28800000, rowBytes = 40, exchanges = 1, started = false, targets = 1),
    cluster = ClusterFacts(slots = 2, executors = 1),
    hint = None,
    sparkStrategy = Strategy.PlainSortMerge,
    canBroadcast = true,
    memory = Some(MemoryFacts(limitBytes = 1L << 30, heldBytes = 0, taskBytes = Some(256L << 20)))
  )

  private def coefficients: String = MarkdownTable(
    Seq("Coefficient", "Default", "Unit", "Of"),
    AqeConf.All.filter(_.shortKey.startsWith("cost.")).map { entry =>
      Seq(s"`${entry.shortKey.stripPrefix("cost.")}`", entry.defaultText, entry.unit, entry.doc)
    }
  )

  private def example: String = {
    val decision = DecideJoin.decide(ExampleJoin, Thresholds.Default)
    val filter = FilterSize.of(ExampleJoin.build, Thresholds.Default)
    val model = new CostModel(ExampleJoin, decision.passRate, filter, Thresholds.Default)
    val options = JoinOption.All.map(option => option -> model.terms(option))
    val names = options.flatMap(_._2.map(_.name)).distinct
    val rows = names.map { name =>
      name +: options.map { case (_, terms) => terms.find(_.name == name).fold("")(term => millis(term.nanos / CostModel.NanosPerMilli)) }
    }
    val totals = "**sum, ms**" +: options.map { case (_, terms) => s"**${millis(CostModel.millis(terms))}**" }
    val verdict = s"Estimated pass rate ${"%.4f".formatLocal(Locale.ROOT, decision.passRate)}; choice `${decision.choice.name}`, " +
      s"reason `${decision.reason.code.name}`; filter ${if (decision.buildFilter) "built" else "not built"}, reason `${decision.filterReason.code.name}`."
    MarkdownTable("Term" +: options.map { case (option, _) => title(option) }, rows :+ totals) + "\n\n" + verdict
  }

  private def title(option: JoinOption): String = {
    val method = option.method match {
      case Method.Broadcast    => "broadcast"
      case Method.ShuffledHash => "shuffled hash"
      case Method.SortMerge    => "sort-merge"
    }
    if (option.withFilter) s"$method with filter" else method
  }

  private def millis(value: Double): String = "%,.1f".formatLocal(Locale.ROOT, value)

  private def reasonCodes: String = MarkdownTable(
    Seq("Code", "About", "Meaning", "Example"),
    ReasonCode.All.map(code => Seq(s"`${code.name}`", code.topic.name, code.meaning, ReasonExamples.of(code)))
  )

  private def estimateSources: String =
    MarkdownTable(Seq("Source", "The number was taken from"), EstimateSource.All.map(source => Seq(s"`${source.name}`", source.meaning)))

  private def passRateSources: String =
    MarkdownTable(
      Seq("Source", "The pass rate was estimated from"),
      PassRateSource.All.map(source => Seq(s"`${source.name}`", source.meaning))
    )
}
