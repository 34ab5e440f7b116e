package io.aqeplugin

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

/** Compares the imports of the sources with the drawing of the rooms in `docs/design.md`. */
class RoomsSuite extends AnyFunSuite {
  private val root = Paths.get("scala", "src", "main", "scala", "io", "aqeplugin")
  private val name = "io\\.aqeplugin\\.([a-z]\\w*)".r

  private def read(file: Path): String = new String(Files.readAllBytes(file), UTF_8)

  /** The lines of the drawing, from the top. A room may import rooms on lines below its own. */
  private val drawing: Seq[Seq[String]] = {
    val page = read(Paths.get("docs", "design.md"))
    val drawn = page.split("<!-- rooms -->\\s*```\\w*\\n", 2).lift(1).map(_.takeWhile(_ != '`')).getOrElse(fail("no drawing of the rooms"))
    drawn.linesIterator.map(_.trim.split("\\s+").toSeq).toSeq
  }

  private val level: Map[String, Int] = drawing.zipWithIndex.flatMap { case (rooms, line) => rooms.map(_ -> line) }.toMap

  private val sources: Seq[(String, Path)] = Using.resource(Files.walk(root)) { found =>
    found.iterator.asScala.filter(file => root.relativize(file).getNameCount > 1 && file.toString.matches(".*\\.(scala|java)"))
      .map(file => root.relativize(file).getName(0).toString -> file)
      .toVector
  }

  /** The source without comments, which may mention any room. */
  private def code(file: Path): String = read(file).replaceAll("(?s)/\\*.*?\\*/", "").replaceAll("//.*", "")

  test("every room is drawn once") {
    assert(drawing.flatten.sorted == sources.map(_._1).distinct.sorted)
  }

  test("a room imports only rooms on lines below its own") {
    val upward = for {
      (room, file) <- sources
      known <- name.findAllMatchIn(code(file)).map(_.group(1)).toSeq
      if level.get(known).exists(_ <= level(room)) && known != room
    } yield s"$room knows $known"
    assert(upward.isEmpty)
  }

  test("the rooms decide, filters and sketch import no plan of Spark") {
    val spark = sources.filter { case (room, file) =>
      Set("decide", "filters", "sketch")(room) && code(file).contains("org.apache.spark.sql")
    }
    assert(spark.isEmpty)
  }
}
