package io.aqeplugin.docs

import java.nio.file.Paths

import org.scalatest.funsuite.AnyFunSuite

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

  test("nothing that writes them is in the driver's jar") {
    def home(of: Class[_]): String = of.getProtectionDomain.getCodeSource.getLocation.toString
    assert(home(GeneratedFiles.getClass) != home(ReasonCode.getClass))
  }

  test("a person sets at most twenty keys") {
    assert(ConfDocs.OfPeople.distinct.size <= 20)
  }

  test("examples of reasons are sentences that fit into a table") {
    ReasonCode.All.map(ReasonExamples.of).foreach(example => assert(example.endsWith(".") && !example.contains("|"), example))
  }
}
