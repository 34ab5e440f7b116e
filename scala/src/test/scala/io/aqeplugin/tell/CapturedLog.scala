package io.aqeplugin.tell

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.logging.log4j.{Level, LogManager}
import org.apache.logging.log4j.core.{LogEvent, Logger}
import org.apache.logging.log4j.core.appender.AbstractAppender
import org.apache.logging.log4j.core.config.{Configurator, Property}
import org.apache.spark.internal.Logging

/** Lines of the driver's log: the plugin's, or another package's. */
object CapturedLog {

  // Spark configures Log4j when it first logs, which would remove an appender that was added before.
  private object Configured extends Logging { val name: String = log.getName }

  /** Lines of `level` and above that any thread logged while `body` ran, and its result. */
  def during[A](level: Level, logged: String = "io.aqeplugin")(body: => A): (Seq[String], A) = LogManager.getLogger(logged) match {
    case logger: Logger =>
      require(Configured.name.nonEmpty)
      val lines = new ConcurrentLinkedQueue[String]()
      val appender = new AbstractAppender("captured", null, null, false, Property.EMPTY_ARRAY) {
        override def append(event: LogEvent): Unit = { val _ = lines.add(event.getMessage.getFormattedMessage) }
      }
      val before = logger.getLevel
      appender.start()
      logger.addAppender(appender)
      // For the loggers below it too, which the logger's own setLevel does not reach.
      Configurator.setLevel(logger.getName, level)
      try {
        val result = body
        (lines.asScala.toSeq, result)
      } finally {
        Configurator.setLevel(logger.getName, before)
        logger.removeAppender(appender)
        appender.stop()
      }
    case other => throw new IllegalStateException(s"Spark logs through ${other.getClass}, not through Log4j")
  }
}
