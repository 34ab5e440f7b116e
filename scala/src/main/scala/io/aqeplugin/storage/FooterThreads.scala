package io.aqeplugin.storage

import java.util.concurrent.Executor

import io.aqeplugin.exec.DaemonThreads

/** The threads that read footers. A storage that hangs blocks all of them and then fills the queue; further files are not read. */
private[storage] object FooterThreads {
  val pool: Executor = DaemonThreads.pool("aqe-plugin-footers", 8, mostWaiting = 256)
}
