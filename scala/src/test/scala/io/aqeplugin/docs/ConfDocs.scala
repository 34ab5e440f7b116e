package io.aqeplugin.docs

import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.conf.{AqeConf, Canary, ConfEntry, TrialArm}
import io.aqeplugin.conf.AqeConf._
import io.aqeplugin.decide.Thresholds

/** The conf keys as a page for users and as a table for the Python half. */
object ConfDocs {

  lazy val Markdown: GeneratedFile = GeneratedFile("docs/reference/configuration.md", markdown)
  lazy val Table: GeneratedFile = GeneratedFile.json("aqe_plugin/conf/conf_table.json") { root =>
    val keys = root.put("schemaVersion", 1).putArray("keys")
    AqeConf.All.foreach(entry => describe(entry, keys.addObject()))
  }

  /** What a person sets. Whatever is neither here nor a price is internal. */
  private[docs] val OfPeople: Seq[ConfEntry[_]] = Seq(
    ModeKey,
    PredicatesMode,
    LimitMode,
    MemoryMaxShare,
    BroadcastMaxMemoryBytes,
    BroadcastMaxRows,
    ShuffledHashMaxShare,
    FilterMaxBytes,
    FilterMaxPassRate,
    FilterMinProbeRows,
    FilterMaxPerScan,
    FilterBuildTimeout,
    WaitSavingShare,
    WaitMaxIdle,
    WaitLimit,
    LimitFooterTimeout,
    LimitMaxSplits,
    DecisionsKeptQueries,
    DecisionsKeptPerQuery,
    CanaryShare
  )

  private def group(entry: ConfEntry[_]): String =
    if (OfPeople.contains(entry)) "people" else if (entry.shortKey.startsWith("cost.")) "price" else "internal"

  private def markdown: String = {
    val head =
      """# Configuration
        |
        |Generated from `scala/src/main/scala/io/aqeplugin/conf/AqeConf.scala` by `make docs`; do not edit.
        |
        |Every key but `canary.*` and `decisions.*` is a session conf: set it when the session is built, or change it between
        |queries with `spark.conf.set` or `SET`. Which mode to begin with: [the mode](../switch-on.md#the-mode).
        |A bad value is reported with its key and the allowed range, and the query runs as if the plugin were off; one of `force` forces nothing.
        |Sizes may have the suffix `k`, `m`, `g` or `t`.
        |
        |""".stripMargin
    val prices =
      """## Prices
        |
        |`aqe-plugin calibrate` measures them on your cluster, and `aqe-plugin recommend` learns from your event logs.
        |[Prices](reasons.md#the-price) has the formula.
        |
        |""".stripMargin
    val internal =
      """## Internal
        |
        |What tests and measurements set. These keys are checked and tuned like the others, but a release may change them.
        |
        |""".stripMargin
    // stripMargin would also remove the bars of the tables.
    s"$head${rows(OfPeople)}\n\n$canary\n\n$prices${rows(of("price"))}\n\n$internal${rows(of("internal"))}\n"
  }

  private def of(name: String): Seq[ConfEntry[_]] = AqeConf.All.filter(group(_) == name)

  private def canary: String =
    s"""## Canary: values that a share of the applications tries
       |
       || Key | Meaning |
       ||---|---|
       || `${Canary.SetPrefix}KEY` | The value to try for `${AqeConf.Prefix}KEY`, which is any key that a session may set, with the same allowed values. |
       || `${Canary.ReplacesPrefix}KEY` | The value that the conf of all applications has for that key; leave it out when that conf has none. |
       |
       |An application is in the canary when the first 53 bits of the SHA-256 of its id (`spark.app.id`, in UTF-8), read as a fraction, are below
       |`${AqeConf.CanaryShare.key}`. It stays in the canary when the share grows.
       |Canary values become the defaults of the application's sessions. A user's own value wins: one from `SET` in a session, or one that the application
       |was started with, unless it equals the replaced value.
       |These keys are read once, when the application starts. If a key or value is not allowed, the driver's log has one warning and nothing is tried.
       |
       |Every event of the plugin then has a field `arm`: ${TrialArm.All.map(arm => s"`${arm.name}`, ${arm.meaning}").mkString(
        "; "
      )}.""".stripMargin

  private def rows(entries: Seq[ConfEntry[_]]): String = MarkdownTable(
    Seq("Key", "Default", "Unit", "Allowed", "Meaning", "Since"),
    entries.map { entry =>
      val default = if (entry.defaultText.isEmpty) "" else s"`${entry.defaultText}`"
      Seq(s"`${entry.key}`", default, entry.unit, entry.allowed.text, entry.doc, entry.since)
    }
  )

  private def describe(entry: ConfEntry[_], node: ObjectNode): Unit = {
    node.put("key", entry.key).put("type", entry.syntax.name)
    (entry.default: Any) match {
      case flag: Boolean  => node.put("default", flag)
      case number: Long   => node.put("default", number)
      case number: Double => node.put("default", number)
      case _              => node.put("default", entry.defaultText)
    }
    node.put("defaultText", entry.defaultText).put("unit", entry.unit).put("allowed", entry.allowed.text)
    entry.threshold.foreach(name => node.put("threshold", name))
    Thresholds.ScaledBy.collectFirst { case (ratio, prices) if prices.contains(entry) => node.put("scaledBy", ratio.key) }
    node.put("perSession", entry.perSession).put("group", group(entry)).put("since", entry.since).put("doc", entry.doc)
    ()
  }
}
