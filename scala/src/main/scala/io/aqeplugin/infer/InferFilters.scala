package io.aqeplugin.infer

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreePattern

import io.aqeplugin.observe.{KeyKind, ObservedMetrics, Total}

/** A filter that was put on one input of the plan's joins. */
final case class InferredFilter(input: LogicalPlan, predicates: Seq[InferredPredicate])

/** Puts filters on the inputs of joins that follow from the conditions of the plan and that Spark has not put there.
  *
  * Only rows that would not reach the output through the joins are removed. The result is a fixed point: the filters of a plan that has
  * them are not inferred again.
  */
object InferFilters {

  /** Most plans take two: the second finds nothing. */
  private val MaxRounds = 8

  /** The plan with the filters, and the filters from left to right. A plan for which no end is in sight stays as it is. */
  def apply(plan: LogicalPlan): (LogicalPlan, Seq[InferredFilter]) =
    if (isLeftAlone(plan)) (plan, Nil)
    else {
      // What follows from a filter may follow only once the filter is there.
      val rounds = Iterator.iterate((plan, Seq.empty[InferredFilter], false)) { case (now, before, _) =>
        val (next, found) = round(now)
        (next, before ++ found, found.isEmpty)
      }
      rounds.take(MaxRounds + 1).collectFirst { case (settled, filters, true) => (settled, filters) }.getOrElse((plan, Nil))
    }

  private def round(plan: LogicalPlan): (LogicalPlan, Seq[InferredFilter]) = {
    val found = Vector.newBuilder[InferredFilter]
    val changed = new Walk(plan, Knowledge.empty(ambiguous(plan)), filter => found += filter).below(plan)
    (changed, found.result())
  }

  /** A streaming join keeps rows for later ones, a row-level command must read whole files, and metrics of the user's may be lost where no row is
    * left. Most other plans have nothing to infer from.
    */
  private def isLeftAlone(plan: LogicalPlan): Boolean =
    !plan.containsPattern(TreePattern.JOIN) || plan.isStreaming || plan.exists(_.isInstanceOf[RowLevelWrite]) ||
      !plan.exists(node => conditionOf(node).exists(isOfColumns)) || ObservedMetrics.areBelowJoin(plan)

  private def conditionOf(node: LogicalPlan): Option[Expression] = node match {
    case filter: Filter => Some(filter.condition)
    case join: Join     => join.condition
    case _              => None
  }

  /** Whether a part of the condition has several columns and is no equality. Spark itself gives a condition on one column to its equals. */
  private def isOfColumns(condition: Expression): Boolean = condition match {
    case And(left, right) => isOfColumns(left) || isOfColumns(right)
    case other            => other.references.size > 1 && !EqualColumns.isEquality(other)
  }

  /** Columns that more than one place of the plan makes. */
  private def ambiguous(plan: LogicalPlan): Set[ExprId] = {
    val seen = mutable.HashSet.empty[ExprId]
    val twice = Set.newBuilder[ExprId]
    plan.foreach(node => made(node).foreach(id => if (!seen.add(id)) twice += id))
    twice.result()
  }

  private def made(node: LogicalPlan): Iterable[ExprId] = node match {
    case _: Join | _: Filter | _: Sort | _: Union => Nil
    case leaf: LeafNode                           => leaf.output.map(_.exprId)
    case project: Project                         => project.projectList.collect { case alias: Alias => alias.exprId }
    case aggregate: Aggregate                     => aggregate.aggregateExpressions.collect { case alias: Alias => alias.exprId }
    case other                                    =>
      val below = other.children.flatMap(_.output.map(_.exprId)).toSet
      other.output.map(_.exprId).filterNot(below)
  }

  /** Columns by which rows can be removed below an operator, not only above it. */
  private def passed(operator: LogicalPlan): Seq[Attribute] = operator match {
    case aggregate: Aggregate =>
      val groups = AttributeSet(aggregate.groupingExpressions.collect { case column: Attribute => column })
      aggregate.aggregateExpressions.collect {
        case column: Attribute if groups.contains(column)                   => column
        case alias @ Alias(column: Attribute, _) if groups.contains(column) => alias.toAttribute
      }
    case window: Window     => window.partitionSpec.collect { case column: Attribute => column }
    case _: Union           => operator.output
    case generate: Generate => generate.child.output
    case _                  => Nil
  }

  private final class Walk(root: LogicalPlan, nothing: Knowledge, note: InferredFilter => Unit) {

    // In most plans nothing is found.
    private lazy val trusted = TrustedColumns.of(root)

    /** Starts anew below each child. */
    def below(plan: LogicalPlan): LogicalPlan = plan match {
      case _: Join | _: Filter | _: Project => input(plan, nothing, Nil)
      case other                            => other.mapChildren(below)
    }

    /** @param knowledge
      *   what is true of the output rows in which a row of `plan` counts
      * @param own
      *   the conditions directly above `plan`
      */
    private def input(plan: LogicalPlan, knowledge: Knowledge, own: Seq[Expression]): LogicalPlan = plan match {
      case filter @ Filter(condition, child) if condition.deterministic =>
        val conjuncts = conjunctsOf(filter)
        input(child, knowledge.plus(conjuncts), own ++ conjuncts) match {
          case Filter(more, grandchild) if grandchild.fastEquals(child) => Filter(And(condition, more), child)
          case changed                                                  => filter.withNewChildren(Seq(changed))
        }
      case project: Project if project.deterministic =>
        project.withNewChildren(Seq(input(project.child, knowledge.plus(renamedBy(project)), own)))
      case sort: Sort        => sort.withNewChildren(Seq(input(sort.child, knowledge, own)))
      case join: Join        => join.withNewChildren(sides(join, knowledge))
      case _: CTERelationRef => plan
      case leaf: LeafNode    => filtered(leaf, knowledge, own).fold[LogicalPlan](leaf)(Filter(_, leaf))
      case other             => throughOperator(other, knowledge, own).fold(other.mapChildren(below))(below)
    }

    private def sides(join: Join, knowledge: Knowledge): Seq[LogicalPlan] = {
      val on = conjunctsOf(join)
      val left = facts(join.left)
      val right = facts(join.right)
      // From the side whose rows are not kept, only rows without a partner may go. Without its partner, a kept row would turn up above as
      // unmatched, and expressions could fail on it before a condition there removes it. So what is known above does not count here.
      lazy val partnered = nothing.plus(on ++ left ++ right)
      join.joinType match {
        case _: InnerLike | LeftSemi =>
          val both = knowledge.plus(on ++ left ++ right)
          Seq(input(join.left, both, Nil), input(join.right, both, Nil))
        case LeftOuter | LeftAnti | ExistenceJoin(_) => Seq(input(join.left, knowledge.plus(left), Nil), input(join.right, partnered, Nil))
        case RightOuter                              => Seq(input(join.left, partnered, Nil), input(join.right, knowledge.plus(right), Nil))
        case _                                       => Seq(below(join.left), below(join.right))
      }
    }

    private def filtered(input: LogicalPlan, knowledge: Knowledge, own: Seq[Expression]): Option[Expression] = {
      val predicates = new Inference(input.output, own, own, knowledge).predicates.filter(isAllowed(_, knowledge))
      if (predicates.nonEmpty) note(InferredFilter(input, predicates))
      allOf(predicates, knowledge)
    }

    private def isAllowed(predicate: InferredPredicate, knowledge: Knowledge): Boolean =
      trusted.allows(predicate.condition, knowledge.equal)

    private def allOf(predicates: Seq[InferredPredicate], knowledge: Knowledge): Option[Expression] =
      Conditions.allOf(predicates.map(predicate => trusted.checked(predicate.condition, knowledge.equal)))

    /** The input with a filter that Spark moved through it; none if it stays above, where it saves no reading. */
    private def throughOperator(operator: LogicalPlan, knowledge: Knowledge, own: Seq[Expression]): Option[LogicalPlan] =
      // Without constraints it is not seen whether the operator has a filter below already.
      if (operator.conf.constraintPropagationEnabled) moveThrough(operator, knowledge, own) else None

    private def moveThrough(operator: LogicalPlan, knowledge: Knowledge, own: Seq[Expression]): Option[LogicalPlan] = {
      val predicates = new Inference(passed(operator), own, own ++ operator.constraints, knowledge).predicates.filter { predicate =>
        isAllowed(predicate, knowledge) && moved(Filter(predicate.condition, operator), operator).isDefined
      }
      val changed = allOf(predicates, knowledge).flatMap(condition => moved(Filter(condition, operator), operator))
      if (changed.isDefined) note(InferredFilter(operator, predicates))
      changed
    }

    private def moved(filter: Filter, operator: LogicalPlan): Option[LogicalPlan] = Some(PushDownPredicates(filter)).filter {
      case Filter(_, below) if below.fastEquals(operator) => false
      // On its way down, a column may have become an expression, which is now evaluated for other rows than before.
      case changed => (conditions(changed).map(_.canonicalized).toSet -- conditions(operator).map(_.canonicalized)).forall { condition =>
          Total(condition) && isSameForEqualValues(condition)
        }
    }

    /** Whether the condition has one answer for all rows of a group: the values of a group are equal, and may still differ. */
    private def isSameForEqualValues(condition: Expression): Boolean =
      condition.references.forall(column => KeyKind.areTheSameWhenEqual(column.dataType))

    private def conditions(plan: LogicalPlan): Seq[Expression] =
      plan.flatMap(node => conditionOf(node).toSeq.flatMap(Conditions.conjuncts))

    private val split = new java.util.IdentityHashMap[LogicalPlan, Seq[Expression]]

    /** The parts of a node's condition: the same objects at each call. */
    private def conjunctsOf(node: LogicalPlan): Seq[Expression] =
      split.computeIfAbsent(node, _ => conditionOf(node).map(Conditions.withoutChecks).toSeq.flatMap(Conditions.conjuncts))

    private val known = new java.util.IdentityHashMap[LogicalPlan, Seq[Expression]]

    /** Conditions that are true in every output row of `plan`; a semi join's also speak of the partner that the row has. */
    private def facts(plan: LogicalPlan): Seq[Expression] = Option(known.get(plan)).getOrElse {
      val found = factsOf(plan)
      known.put(plan, found)
      found
    }

    private def factsOf(plan: LogicalPlan): Seq[Expression] = plan match {
      case filter: Filter if filter.condition.deterministic => conjunctsOf(filter) ++ facts(filter.child)
      case project: Project if project.deterministic        => renamedBy(project) ++ facts(project.child)
      case join: Join                                       =>
        join.joinType match {
          case _: InnerLike | LeftSemi                 => conjunctsOf(join) ++ facts(join.left) ++ facts(join.right)
          case LeftOuter | LeftAnti | ExistenceJoin(_) => facts(join.left)
          case RightOuter                              => facts(join.right)
          case _                                       => Nil
        }
      case aggregate: Aggregate if aggregate.groupingExpressions.nonEmpty =>
        val groups = AttributeSet(aggregate.groupingExpressions.collect { case column: Attribute => column })
        facts(aggregate.child).filter(fact => fact.references.subsetOf(groups) && isSameForEqualValues(fact)) ++
          renamed(aggregate.aggregateExpressions.collect { case alias @ Alias(_: Attribute, _) => alias })
      case _: Sort | _: Window | _: GlobalLimit | _: LocalLimit => facts(plan.children.head)
      case _                                                    => Nil
    }

    private def renamedBy(project: Project): Seq[Expression] = split.computeIfAbsent(project, _ => renamed(project.projectList))

    private def renamed(list: Seq[NamedExpression]): Seq[Expression] = list.collect {
      case alias @ Alias(column: Attribute, _)                                                => EqualNullSafe(alias.toAttribute, column)
      case alias @ Alias(sum @ (_: Add | _: Subtract | _: Cast | _: DateAdd | _: DateSub), _) => EqualNullSafe(alias.toAttribute, sum)
    }
  }
}
