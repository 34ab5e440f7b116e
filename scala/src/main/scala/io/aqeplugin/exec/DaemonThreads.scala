package io.aqeplugin.exec

import java.util.concurrent._
import java.util.concurrent.atomic.AtomicInteger

/** Threads of the plugin: named for thread dumps, and daemons, so that they never keep a driver alive.
  *
  * A thread inherits nothing from the query that happened to start it, because it would keep that query's session alive: no thread-locals,
  * and the plugin's own class loader. Work on a thread names its query itself.
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

  /** At most `size` threads, which end when they have been idle for a while; more than `mostWaiting` waiting tasks are rejected. */
  def pool(name: String, size: Int, mostWaiting: Int = Int.MaxValue): ExecutorService = {
    val queue = new LinkedBlockingQueue[Runnable](mostWaiting)
    val pool = new ThreadPoolExecutor(size, size, IdleSeconds, TimeUnit.SECONDS, queue, factory(name))
    pool.allowCoreThreadTimeOut(true)
    pool
  }
}

/** One thread that runs each action when its time has come, or as soon as the actions before it have run. */
final class DaemonTimer(name: String) {
  private val executor = new ScheduledThreadPoolExecutor(1, DaemonThreads.factory(name))
  executor.setRemoveOnCancelPolicy(true)

  def afterMillis(delayMillis: Long)(body: => Unit): ScheduledFuture[_] =
    executor.schedule((() => body): Runnable, delayMillis, TimeUnit.MILLISECONDS)
}
