package io.aqeplugin.tell

import java.nio.file.Paths

import org.scalatest.funsuite.AnyFunSuite

/** The tests run in the repository's root. */
class GeneratedFilesSuite extends AnyFunSuite {

  GeneratedFiles.All.foreach { file =>
    test(s"${file.path} says what the code says (`make docs` writes it anew)") {
      assert(!file.isStale(Paths.get(".")))
    }
  }
}
