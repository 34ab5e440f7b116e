package io.aqeplugin.e2e

import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}

/** Hadoop's local files, whose permissions Java sets: without Hadoop's native library, Hadoop starts `chmod` for each file and folder, which a suite
  * that writes many tables would do 1,500 times. Files that are written by a `FileContext` still do.
  */
final class LocalFiles extends LocalFileSystem(new LocalFiles.Raw)

object LocalFiles {
  val Conf: (String, String) = "spark.hadoop.fs.file.impl" -> classOf[LocalFiles].getName

  private final class Raw extends RawLocalFileSystem {
    override def setPermission(path: Path, permission: FsPermission): Unit = {
      val actions = Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction)
      val _ = Files.setPosixFilePermissions(pathToFile(path).toPath, PosixFilePermissions.fromString(actions.map(_.SYMBOL).mkString))
    }
  }
}
