package io.aqeplugin.exec

import java.util.concurrent.{ExecutorService, LinkedBlockingQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

/** Threads of the plugin's own: named, so that a thread dump tells whose they are, and daemons, so that they never keep a driver alive.
  *
  * A thread has nothing of the query that happened to start it, whose session it would hold for as long as it lives: no thread-locals, and the
  * plugin's class loader. Whatever runs in it names its query itself.
  */
object DaemonThreads {
  private val IdleSeconds = 10L

  def factory(name: String): ThreadFactory = {
    val count = new AtomicInteger()
    runnable => {
      val thread = new Thread(Thread.currentThread().getThreadGroup, runnable, s"$name-${count.incrementAndGet()}", 0L, false)
      thread.setContextClassLoader(getClass.getClassLoader)
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
