package io.aqeplugin.conf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

/** A file of the repository that is written by the code, so that it cannot contradict it.
  *
  * @param path
  *   relative to the root of the repository, with `/`
  */
final case class GeneratedFile(path: String, text: String) {

  def write(root: Path): Unit = {
    val target = root.resolve(path)
    Files.createDirectories(target.getParent)
    Files.write(target, text.getBytes(UTF_8))
    ()
  }

  /** Whether the file below `root` is missing or says something else. */
  def isStale(root: Path): Boolean = {
    val target = root.resolve(path)
    !Files.isRegularFile(target) || new String(Files.readAllBytes(target), UTF_8) != text
  }
}
