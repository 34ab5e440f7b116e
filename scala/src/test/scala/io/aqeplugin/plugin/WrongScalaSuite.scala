package io.aqeplugin.plugin

import scala.collection.mutable

import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.{AqePlugin, CompiledLine, SparkLine}
import io.aqeplugin.metrics.Faults
import io.aqeplugin.tell.CapturedLog

/** A jar on a Spark of another Scala: Spark starts, is told why, and runs without the plugin. */
class WrongScalaSuite extends AnyFunSuite {
  import WrongScalaSuite._

  private val Fits = s"${CompiledLine.SPARK}.0"

  test("on another Scala the plugin says which it needs and stands down, before a class of it needs the library") {
    val loader = new WithoutScala
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(loader, Fits, "2.12.18"))
    assert(driver.isEmpty)
    assert(
      lines == Seq(
        s"aqe-plugin: this jar is for Scala 2.13 and this Spark $Fits runs on Scala 2.12.18. Use a Spark built with Scala 2.13. " +
          "The plugin stands down; queries run as without it."
      )
    )
    assert(loader.defined.toSet == Set("io.aqeplugin.AqePlugin", "io.aqeplugin.SparkLine"))
  }

  test("on a Spark of another line, too, nothing of the plugin needs Scala") {
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(new WithoutScala, "3.5.7", "2.12.18"))
    assert(driver.isEmpty)
    assert(lines.exists(_.contains("Spark 3.5.7 is not supported")), lines)
  }

  test("classes that cannot be linked although the versions fit are no reason for Spark not to start") {
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(new WithoutScala, Fits, "2.13.99"))
    assert(driver.isEmpty)
    assert(lines == Seq("aqe-plugin: a class cannot be linked; the plugin stands down, queries run as without it."))
  }

  test("where all fits there is a driver's half") {
    assert(new AqePlugin().driverPlugin().isInstanceOf[AqeDriverPlugin])
    assert(SparkLine.mismatch(SparkLine.versionOfSpark(), SparkLine.versionOfScala()).isEmpty)
  }

  test("a class that is missing while the plugin is installed is told and counted, and does not end the application's start") {
    val before = Faults.count
    val (lines, _) = CapturedLog.during(Level.WARN) {
      AqeDriverPlugin.guarded("installation", "the plugin stands down")(throw new NoSuchMethodError("scala.Predef.wrapRefArray"))
    }
    assert(lines == Seq("aqe-plugin: installation failed, the plugin stands down. Further faults of this kind are only counted."))
    assert(Faults.count == before + 1)
  }
}

object WrongScalaSuite {

  /** Loads the plugin's classes anew, and has no Scala library for them. */
  final private class WithoutScala extends ClassLoader(classOf[AqePlugin].getClassLoader) {
    val defined: mutable.Buffer[String] = mutable.Buffer.empty

    override def loadClass(name: String, resolve: Boolean): Class[_] = getClassLoadingLock(name).synchronized {
      if (name.startsWith("scala.")) throw new ClassNotFoundException(name)
      else if (name.startsWith("io.aqeplugin.")) Option(findLoadedClass(name)).getOrElse(define(name))
      else super.loadClass(name, resolve)
    }

    private def define(name: String): Class[_] = {
      val stream = getParent.getResourceAsStream(s"${name.replace('.', '/')}.class")
      val bytes =
        try stream.readAllBytes()
        finally stream.close()
      defined += name
      defineClass(name, bytes, 0, bytes.length)
    }
  }

  /** The driver's half as the plugin of that loader makes it when it is told these versions. */
  private def driverPlugin(loader: ClassLoader, spark: String, scala: String): Option[AnyRef] = {
    val plugin = loader.loadClass(classOf[AqePlugin].getName)
    val method = plugin.getDeclaredMethod("driverPlugin", classOf[String], classOf[String])
    method.setAccessible(true)
    Option(method.invoke(plugin.getDeclaredConstructor().newInstance(), spark, scala))
  }
}
