package io.aqeplugin.storage

import java.net.URI
import java.util.concurrent.CountDownLatch

import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}

/** The local file system under the scheme `stalling`, which opens no file while it is stalled. */
final class StallingFileSystem extends RawLocalFileSystem {
  override def getUri: URI = URI.create("stalling:///")
  override def getScheme: String = "stalling"

  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    StallingFileSystem.gate.await()
    super.open(path, bufferSize)
  }
}

object StallingFileSystem {
  // Tests close and open it; reading threads wait for it.
  @volatile private var gate = new CountDownLatch(0)

  def stall(): Unit = gate = new CountDownLatch(1)
  def goOn(): Unit = gate.countDown()
}
