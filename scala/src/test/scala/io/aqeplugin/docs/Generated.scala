package io.aqeplugin.docs

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import com.fasterxml.jackson.databind.node.ObjectNode

/** A file of the repository, or a part of one, that is generated from code. */
sealed trait Generated {

  /** Relative to the root of the repository, separated by `/`. */
  def path: String

  /** The new text of the whole file, made from its present text (empty when there is no file). */
  protected def renew(now: String): String

  def write(root: Path): Unit = {
    val target = root.resolve(path)
    Files.createDirectories(target.getParent)
    Files.write(target, renew(read(target)).getBytes(UTF_8))
    ()
  }

  /** Whether the file below `root` is missing or out of date. */
  def isStale(root: Path): Boolean = {
    val now = read(root.resolve(path))
    now.isEmpty || renew(now) != now
  }

  private def read(target: Path): String = if (Files.isRegularFile(target)) new String(Files.readAllBytes(target), UTF_8) else ""
}

final case class GeneratedFile(path: String, text: String) extends Generated {
  protected def renew(now: String): String = text
}

object GeneratedFile {

  /** A file of one JSON object, which `fill` fills. */
  def json(path: String)(fill: ObjectNode => Unit): GeneratedFile = {
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createObjectNode()
    fill(root)
    GeneratedFile(path, mapper.writeValueAsString(root).replace("\r\n", "\n") + "\n")
  }
}

object MarkdownTable {
  def apply(header: Seq[String], rows: Seq[Seq[String]]): String =
    (header.mkString(
      "| ",
      " | ",
      " |"
    ) +: header.map(_ => "---").mkString("|", "|", "|") +: rows.map(_.mkString("| ", " | ", " |"))).mkString("\n")
}

/** The lines of a page between `<!-- generated: name -->` and `<!-- end: name -->`. People write the rest of the page. */
final case class GeneratedSection(path: String, name: String, text: String) extends Generated {
  private val begin = s"<!-- generated: $name -->"
  private val end = s"<!-- end: $name -->"

  /** @throws IllegalStateException when the page lacks the marks */
  protected def renew(now: String): String = {
    val from = now.indexOf(begin)
    val until = now.indexOf(end)
    if (from < 0 || until < from) throw new IllegalStateException(s"$path lacks the marks $begin and $end")
    now.take(from) + begin + "\n\n" + text + "\n\n" + now.drop(until)
  }
}
