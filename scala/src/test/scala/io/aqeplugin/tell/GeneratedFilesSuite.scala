package io.aqeplugin.tell

import java.nio.file.Paths

import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.conf.{GeneratedFile, GeneratedSection}
import io.aqeplugin.decide.ReasonCode

/** The tests run in the repository's root. */
class GeneratedFilesSuite extends AnyFunSuite {

  GeneratedFiles.All.foreach { file =>
    val name = file match {
      case whole: GeneratedFile      => whole.path
      case section: GeneratedSection => s"${section.path}, ${section.name},"
    }
    test(s"$name is up to date (`make docs` generates it)") {
      assert(!file.isStale(Paths.get(".")))
    }
  }

  test("examples of reasons are sentences that fit into a table") {
    ReasonCode.All.map(ReasonExamples.of).foreach(example => assert(example.endsWith(".") && !example.contains("|"), example))
  }
}
