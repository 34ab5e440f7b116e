package io.aqeplugin.exec

import java.util.concurrent.{ExecutorService, LinkedBlockingQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/** Threads of the plugin's own: named, so that a thread dump tells whose they are, and daemons, so that they never keep a driver alive. */
object DaemonThreads {
  private val IdleSeconds = 10L

  def factory(name: String): ThreadFactory = {
    val count = new AtomicInteger()
    runnable => {
      val thread = new Thread(runnable, s"$name-${count.incrementAndGet()}")
      thread.setDaemon(true)
      thread
    }
  }

  /** At most `size` threads, which end when there was nothing to do for a while. */
  def pool(name: String, size: Int): ExecutorService = {
    val pool = new ThreadPoolExecutor(size, size, IdleSeconds, TimeUnit.SECONDS, new LinkedBlockingQueue[Runnable](), factory(name))
    pool.allowCoreThreadTimeOut(true)
    pool
  }
}
