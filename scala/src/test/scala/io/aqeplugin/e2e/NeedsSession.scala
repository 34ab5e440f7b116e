package io.aqeplugin.e2e

import org.scalatest.{Suite, SuiteMixin}

/** Tags every test of the suite as one that needs a Spark session, so that `make check` can leave it out. */
trait NeedsSession extends SuiteMixin { this: Suite =>

  abstract override def tags: Map[String, Set[String]] =
    testNames.map(name => name -> (super.tags.getOrElse(name, Set.empty) + NeedsSession.Tag)).toMap
}

object NeedsSession {

  /** The tag's name in ScalaTest's options; `build.sbt` has it too. */
  val Tag: String = "NeedsSession"
}
