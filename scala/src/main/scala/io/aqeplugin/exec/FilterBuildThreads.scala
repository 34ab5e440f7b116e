package io.aqeplugin.exec

import java.util.concurrent.ExecutorService

/** The driver's threads that wait for filter jobs. */
object FilterBuildThreads {

  /** How long a reader of a filter waits beyond the build's own time limit. */
  val GraceMillis = 1000L

  /** Maximum number of concurrent builds over all queries. Further builds wait for a thread while their time limit runs: one plan may
    * request dozens, and a driver that cannot start more threads fails unrelated queries.
    */
  val MaxBuilds = 64

  val pool: ExecutorService = DaemonThreads.pool("aqe-plugin-filter-build", MaxBuilds)

  /** Ends the builds that take too long. Each time-out makes a broadcast, so nothing else may need this thread. */
  val timer = new DaemonTimer("aqe-plugin-filter-timeout")
}
