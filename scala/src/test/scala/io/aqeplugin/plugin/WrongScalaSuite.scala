package io.aqeplugin.plugin

import scala.collection.mutable

import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.{AqePlugin, CompiledLine, SparkLine}
import io.aqeplugin.metrics.Faults
import io.aqeplugin.tell.CapturedLog

/** A jar on a Spark with another Scala version: Spark starts, logs the reason, and runs without the plugin. */
class WrongScalaSuite extends AnyFunSuite {
  import WrongScalaSuite._

  private val Fits = s"${CompiledLine.SPARK}.0"

  test("on another Scala version, the plugin logs what it needs and stays inactive") {
    val loader = new WithoutScala
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(loader, Fits, "2.12.18"))
    assert(driver.isEmpty)
    assert(
      lines == Seq(
        s"aqe-plugin: this jar is for Scala 2.13 and this Spark $Fits runs on Scala 2.12.18. Use a Spark built with Scala 2.13. " +
          "The plugin is inactive; queries run as without it."
      )
    )
    assert(loader.defined.toSet == Set("io.aqeplugin.AqePlugin", "io.aqeplugin.SparkLine"))
  }

  test("on another Spark line, the plugin needs no Scala class to say so") {
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(new WithoutScala, "3.5.7", "2.12.18"))
    assert(driver.isEmpty)
    assert(lines.exists(_.contains("Spark 3.5.7 is not supported")), lines)
  }

  test("a class that cannot be linked does not keep Spark from starting") {
    val (lines, driver) = CapturedLog.during(Level.WARN)(driverPlugin(new WithoutScala, Fits, "2.13.99"))
    assert(driver.isEmpty)
    assert(lines == Seq("aqe-plugin: a class cannot be linked. The plugin is inactive; queries run as without it."))
  }

  test("a Thrift Server that has the jar on its class path, and Spark's SQL shell, get the plugin") {
    val server = "org.apache.spark.deploy.SparkSubmit --class org.apache.spark.sql.hive.thriftserver.HiveThriftServer2 spark-internal"
    val (application, below) = (ClassLoader.getSystemClassLoader, new WithoutScala)
    assert(AqePlugin.isClosedWithASession(server, below))
    assert(!AqePlugin.isClosedWithASession(server, application))
    assert(!AqePlugin.isClosedWithASession(server.replace("HiveThriftServer2", "SparkSQLCLIDriver"), below))
  }

  test("with fitting versions, the driver plugin is created") {
    assert(new AqePlugin().driverPlugin().isInstanceOf[AqeDriverPlugin])
    assert(SparkLine.mismatch(SparkLine.versionOfSpark(), SparkLine.versionOfScala()).isEmpty)
  }

  test("a class missing during installation is logged, and the application starts") {
    val before = Faults.count
    val (lines, _) = CapturedLog.during(Level.WARN) {
      AqeDriverPlugin.guarded("installation", "the plugin is inactive")(throw new NoSuchMethodError("scala.Predef.wrapRefArray"))
    }
    assert(lines == Seq("aqe-plugin: installation failed, the plugin is inactive. Further faults of this kind are only counted."))
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

  /** The driver plugin that the plugin of that loader creates for these versions. */
  private def driverPlugin(loader: ClassLoader, spark: String, scala: String): Option[AnyRef] = {
    val plugin = loader.loadClass(classOf[AqePlugin].getName)
    val method = plugin.getDeclaredMethod("driverPlugin", classOf[String], classOf[String])
    method.setAccessible(true)
    Option(method.invoke(plugin.getDeclaredConstructor().newInstance(), spark, scala))
  }
}
