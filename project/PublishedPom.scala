import scala.xml.{Node, NodeSeq}
import scala.xml.transform.{RewriteRule, RuleTransformer}

object PublishedPom {

  /** The pom with the dependencies that Spark provides, and no others: the jar brings nothing, and what benchmarks and tests
    * use is not for whoever takes it.
    */
  val withWhatSparkProvides: Node => Node = new RuleTransformer(new RewriteRule {
    override def transform(node: Node): NodeSeq =
      if (node.label == "dependency" && (node \ "scope").text != "provided") NodeSeq.Empty else node
  }).transform(_).head
}
