package io.aqeplugin.observe

import org.apache.spark.sql.catalyst.plans.QueryPlan

/** Whether a node is the one of a name, logical or physical, that not every Spark line has as a class. Asked for every node of a query. */
private[observe] final class NamedNodes private (name: String) {
  private val ofClass = new ClassValue[java.lang.Boolean] {
    override def computeValue(of: Class[_]): java.lang.Boolean = of.getSimpleName.stripSuffix("Exec") == name
  }

  def apply(node: QueryPlan[_]): Boolean = ofClass.get(node.getClass)
}

private[observe] object NamedNodes {
  def apply(name: String): NamedNodes = new NamedNodes(name)
}
