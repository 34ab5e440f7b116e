package io.aqeplugin.exec

import scala.collection.mutable
import scala.util.Using

import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, SimpleCostEvaluator}
import org.apache.xbean.asm9.{ClassReader, ClassVisitor, MethodVisitor, Opcodes}
import org.scalatest.funsuite.AnyFunSuite

/** How AQE goes through plans, by its compiled code. [[RuntimeFilterExec]] answers a search for one node without its sources, and a visit of all
  * nodes with them: if a Spark line goes through plans in another way, it has to be looked at again.
  */
class AdaptiveSearchesSuite extends AnyFunSuite {

  private def walks(of: Class[_]): Set[(String, String)] = {
    val found = mutable.Set.empty[(String, String)]
    Using.resource(of.getResourceAsStream(s"/${of.getName.replace('.', '/')}.class")) { code =>
      new ClassReader(code).accept(
        new ClassVisitor(Opcodes.ASM9) {
          override def visitMethod(f: Int, method: String, d: String, s: String, e: Array[String]): MethodVisitor =
            new MethodVisitor(Opcodes.ASM9) {
              override def visitMethodInsn(op: Int, owner: String, name: String, descriptor: String, isInterface: Boolean): Unit =
                if (AdaptiveSearchesSuite.Plans(owner) && AdaptiveSearchesSuite.Walks(name))
                  found += method.replaceAll("\\$anonfun\\$|\\$\\d+$", "") -> name
            }
        },
        0
      )
    }
    found.toSet
  }

  test("AQE finds the logical node of a stage by its first node in the plan, and whether the plan has the stage") {
    val ofOneNode = walks(classOf[AdaptiveSparkPlanExec]).filter(walk => Set("collectFirst", "exists", "find")(walk._2))
    assert(
      ofOneNode == Set(
        "replaceWithQueryStagesInLogicalPlan" -> "collectFirst",
        "replaceWithQueryStagesInLogicalPlan" -> "exists",
        "setLogicalLinkForNewQueryStage" -> "collectFirst"
      )
    )
  }

  test("AQE visits all nodes to cancel stages, to take off its marks and to tell of metrics") {
    val ofAll = walks(classOf[AdaptiveSparkPlanExec]).filterNot(walk => Set("collectFirst", "exists", "find")(walk._2))
    assert(
      ofAll == Set(
        "cleanUpAndThrowException" -> "foreach",
        "cleanUpTempTags" -> "foreach",
        "onUpdatePlan" -> "flatMap",
        "withFinalPlanUpdate" -> "collect"
      )
    )
  }

  test("AQE prices a plan by a visit of all nodes") {
    val prices = walks(classOf[SimpleCostEvaluator])
    assert(prices.map(_._1) == Set("evaluateCost") && prices.map(_._2).subsetOf(Set("collect", "foreach")), prices)
    assert(walks(classOf[TreeNode[_]]).filter(_._1 == "collect") == Set("collect" -> "foreach"))
  }
}

private object AdaptiveSearchesSuite {
  private val Plans = Set("execution/SparkPlan", "catalyst/trees/TreeNode").map(name => s"org/apache/spark/sql/$name")

  private val Walks =
    classOf[TreeNode[_]].getMethods.map(_.getName).filter(_.matches("(collect|exists|find|flatMap|foreach|map|transform).*")).toSet
}
