package io.aqeplugin.conf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

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
