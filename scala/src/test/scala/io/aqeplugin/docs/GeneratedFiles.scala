package io.aqeplugin.docs

import java.nio.file.Paths

import io.aqeplugin.tell.{DecisionJson, EventSchema}

/** Writes every generated file of the repository; the one argument is the repository's root. */
object GeneratedFiles {

  private val Events = GeneratedFile.json("aqe_plugin/events/event_schema.json") { root =>
    val objects = root.put("schemaVersion", DecisionJson.SchemaVersion).putArray("objects")
    EventSchema.Objects.foreach { schema =>
      val fields = objects.addObject().put("name", schema.name).put("doc", schema.doc).putArray("fields")
      schema.fields.foreach { field =>
        val node = fields.addObject().put("name", field.name).put("type", field.kind).put("unit", field.unit)
        node.put("required", field.required).put("doc", field.doc)
        if (field.values.nonEmpty) {
          val values = node.putArray("values")
          field.values.foreach(values.add(_))
        }
      }
    }
  }

  val All: Seq[Generated] =
    Seq(
      ConfDocs.Markdown,
      ConfDocs.Table,
      PythonThresholds.File,
      Events,
      DecisionsTableDocs.File,
      MetricDocs.Section
    ) ++ DecisionDocs.All

  def main(args: Array[String]): Unit = {
    val root = Paths.get(args.headOption.getOrElse("."))
    All.foreach(_.write(root))
  }
}
