package io.aqeplugin.observe

import java.lang.reflect.Modifier
import java.nio.file.{Files, Path, Paths}
import java.util.jar.JarFile

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.SparkPlan
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.CompiledLine

/** The expressions of a Spark line. What is not listed is refused, so a new one only waits to be decided about: it goes into the list, or
  * `AQE_PLUGIN_REWRITE_EXPECTED=1` with this suite records it as left out.
  */
class KnownExpressionsSuite extends AnyFunSuite {
  private val recorded: Path = Paths.get("scala", "src", "test", "resources", "unlisted-expressions", s"${CompiledLine.SPARK}.txt")

  private lazy val ofSpark: Set[String] = Seq(classOf[Expression], classOf[SparkPlan]).flatMap { one =>
    Using.resource(new JarFile(Paths.get(one.getProtectionDomain.getCodeSource.getLocation.toURI).toFile)) { jar =>
      jar.entries.asScala.map(_.getName).filter(isOfExpressions).map(_.stripSuffix(".class").replace('/', '.')).toList
        .filter(name => Try(Class.forName(name, false, getClass.getClassLoader)).toOption.exists(isExpression))
    }
  }.toSet

  private def isOfExpressions(file: String): Boolean = file.endsWith(".class") && file.startsWith("org/apache/spark/sql/")

  private def isExpression(one: Class[_]): Boolean = classOf[Expression].isAssignableFrom(one) && !Modifier.isAbstract(one.getModifiers)

  test("every expression of this Spark line is listed, or recorded as left out") {
    val unlisted = (ofSpark -- KnownExpressions.known.keySet).toSeq.sorted
    if (sys.env.get("AQE_PLUGIN_REWRITE_EXPECTED").contains("1")) {
      Files.createDirectories(recorded.getParent)
      val _ = Files.write(recorded, unlisted.asJava)
    }
    assert(unlisted == Files.readAllLines(recorded).asScala.toSeq)
  }

  test("every listed expression is one of this Spark line, but for those that are in other lines alone") {
    val ofSomeLines = Set("KeyGroupedPartitioning", "KeyedPartitioning").map(name => s"org.apache.spark.sql.catalyst.plans.physical.$name")
    val listed = KnownExpressions.known.keySet.filter(_.startsWith("org.apache.spark."))
    assert((listed -- ofSpark -- ofSomeLines).isEmpty && listed.size > 100)
  }
}
