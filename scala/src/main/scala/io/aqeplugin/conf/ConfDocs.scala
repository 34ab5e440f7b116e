package io.aqeplugin.conf

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import com.fasterxml.jackson.databind.node.ObjectNode

/** The conf keys as a page for people and as a table for the Python half. */
object ConfDocs {

  val Markdown: GeneratedFile = GeneratedFile("docs/configuration.md", markdown)
  val Table: GeneratedFile = GeneratedFile("aqe_plugin/conf/conf_table.json", table)

  private def markdown: String = {
    val (internal, public) = AqeConf.All.partition(_.internal)
    val head =
      """# Configuration
       |
       |Generated from `scala/src/main/scala/io/aqeplugin/conf/AqeConf.scala` by `make docs`; do not edit.
       |
       |Every key but `canary.*` and `decisions.*` is a session conf: it can be set when the session is built, and changed between queries with `spark.conf.set` or `SET`.
       |A bad value is refused by name, with the allowed range, and the query runs as if the plugin were off.
       |Sizes may be written with `k`, `m`, `g` or `t`.
       |
       |""".stripMargin
    // Added after: a margin would be stripped off a table, too.
    s"$head${rows(public)}\n\n$canary\n\n## For this project's own tests\n\n${rows(internal)}\n"
  }

  private def canary: String =
    s"""## Values that a share of the applications tries
       |
       || Key | Meaning |
       ||---|---|
       || `${Canary.SetPrefix}KEY` | The value to try for `${AqeConf.Prefix}KEY`, which is any key that a session may set; allowed is what is allowed there. |
       || `${Canary.ReplacesPrefix}KEY` | The value that the conf of all applications has for that key; left out when it sets none. |
       |
       |An application is drawn when the first 53 bits of the SHA-256 of its id (`spark.app.id`, in UTF-8), as a fraction, are below `${AqeConf.CanaryShare.key}`.
       |Who is drawn stays drawn when the share grows. The values that are tried become the defaults of the application's sessions, and what a user says
       |wins over them: `SET` in a session, and a value that the application was started with, unless it is the very one that is replaced.
       |All of it is read once, when the application starts; with a key or value that is not allowed there, the driver's log has one warning and nothing is tried.
       |
       |Every event of the plugin then has a field `arm`: ${TrialArm.All.map(arm => s"`${arm.name}`, ${arm.meaning}").mkString(
        "; "
      )}.""".stripMargin

  private def rows(entries: Seq[ConfEntry[_]]): String =
    (Seq("| Key | Default | Unit | Allowed | Meaning | Since |", "|---|---|---|---|---|---|") ++ entries.map { entry =>
      s"| `${entry.key}` | `${entry.defaultText}` | ${entry.unit} | ${entry.allowed.text} | ${entry.doc} | ${entry.since} |"
    }).mkString("\n")

  private def table: String = {
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createObjectNode()
    val keys = root.put("schemaVersion", 1).putArray("keys")
    AqeConf.All.foreach(entry => describe(entry, keys.addObject()))
    mapper.writeValueAsString(root).replace("\r\n", "\n") + "\n"
  }

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
    node.put(
      "perSession",
      entry.perSession
    ).put("internal", entry.internal).put("since", entry.since).put("doc", entry.doc)
    ()
  }
}
