package io.aqeplugin.infer

import org.apache.spark.sql.catalyst.expressions._

import io.aqeplugin.observe.Total

/** What conditions say about one side of a join.
  *
  * Every conclusion rests on conditions that are true, not just not false: a comparison that is true has no null in it.
  *
  * @param columns
  *   the columns of the side
  * @param above
  *   the conditions of filters directly above the side
  * @param own
  *   conditions that the side's rows fulfil already, those included
  */
private[infer] final class Inference(columns: Seq[Attribute], above: Seq[Expression], own: => Seq[Expression], knowledge: Knowledge) {
  private val byId: Map[ExprId, Attribute] = columns.map(column => column.exprId -> column).toMap

  /** The predicates that the side's rows do not fulfil already, none of which follows from the others. */
  def predicates: Seq[InferredPredicate] = {
    lazy val first = new Fulfilled(
      own.map(Conditions.withoutChecks).flatMap(Conditions.conjuncts).flatMap(substituted(_, knowledge.equal)),
      knowledge.ordered
    )
    val (_, found) = candidates.foldLeft((Option.empty[Fulfilled], Vector.empty[InferredPredicate])) { case ((before, kept), candidate) =>
      val fulfilled = before.getOrElse(first)
      if (fulfilled.implies(candidate.condition)) (Some(fulfilled), kept)
      else (Some(fulfilled.plus(candidate.condition)), kept :+ candidate)
    }
    found
  }

  private def candidates: Iterator[InferredPredicate] = {
    val direct = new java.util.IdentityHashMap[Expression, Unit]
    above.foreach(direct.put(_, ()))
    val relevant = knowledge.facts.filter(fact => !direct.containsKey(fact) && isToBeMoved(fact) && mentions(fact))
    val (alternatives, simple) = relevant.partition(fact => Conditions.disjuncts(fact).size > 1)
    val moved = simple.iterator.flatMap(substituted(_, knowledge.equal)).map(InferredPredicate(_, InferredBy.EqualColumn))
    val parts = alternatives.iterator.flatMap { fact =>
      val by = if (substituted(fact, knowledge.equal).isDefined) InferredBy.EqualColumn else InferredBy.OrOverSides
      implied(fact, knowledge.equal).map(InferredPredicate(_, by))
    }
    // Bounds come last: an OR says more than the bounds that follow from it.
    equalities.iterator ++ (moved ++ parts).flatMap(pushable) ++ bounds
  }

  private def pushable(predicate: InferredPredicate): Option[InferredPredicate] =
    Conditions.withoutNulls(predicate.condition).map(condition => predicate.copy(condition = condition))

  /** Spark itself carries IS NOT NULL, and equalities of columns are known as classes. */
  private def isToBeMoved(fact: Expression): Boolean = !fact.isInstanceOf[IsNotNull] && !EqualColumns.isEquality(fact)

  private def mentions(fact: Expression): Boolean = fact.references.exists(isHere(_, knowledge.equal))

  private def isHere(column: Attribute, equal: EqualColumns): Boolean =
    byId.contains(column.exprId) || equal.of(column).exists(other => byId.contains(other.exprId))

  /** The column of this side with the same value; of several, always the same one. */
  private def here(column: Attribute, equal: EqualColumns): Option[Attribute] =
    equal.of(column).flatMap(other => byId.get(other.exprId)).headOption.orElse(byId.get(column.exprId))

  /** The columns that predicates of this side are written in: one of each class. */
  private def representatives(equal: EqualColumns): Seq[Attribute] = columns.filter(column => here(column, equal).contains(column))

  /** Columns of this side that are equal because they equal the same column elsewhere. */
  private def equalities: Seq[InferredPredicate] = {
    val known = EqualColumns.None.plus(own)
    for {
      members <- knowledge.equal.all.toSeq
      local = members.flatMap(member => byId.get(member.exprId))
      first <- local.headOption.toSeq
      other <- local.drop(1)
      if !known.areEqual(first, other)
    } yield InferredPredicate(EqualNullSafe(first, other), InferredBy.EqualColumn)
  }

  /** `condition` with this side's columns, if each of its columns has an equal here and no row can make it throw. */
  private def substituted(condition: Expression, equal: EqualColumns): Option[Expression] =
    if (!Total(condition) || condition.references.isEmpty || !condition.references.forall(isHere(_, equal))) None
    else Some(condition.transform { case column: Attribute => here(column, equal).getOrElse(column) }).filterNot(isTrivial)

  private def isTrivial(condition: Expression): Boolean = condition match {
    case comparison: BinaryComparison => comparison.left.semanticEquals(comparison.right)
    case _                            => false
  }

  /** What is true of this side's columns wherever `condition` is true; nothing if that is unknown. */
  private def implied(condition: Expression, equal: EqualColumns): Seq[Expression] = Conditions.conjuncts(condition).flatMap { conjunct =>
    val branches = Conditions.disjuncts(conjunct)
    if (branches.size == 1) substituted(conjunct, equal).toSeq
    else Conditions.anyOf(branches.flatMap(impliedByBranch(_, equal))).toSeq
  }

  /** None if the branch is never true. */
  private def impliedByBranch(branch: Expression, equal: EqualColumns): Option[Seq[Expression]] = {
    val conjuncts = Conditions.conjuncts(branch)
    val local = equal.plus(conjuncts)
    val inColumns = conjuncts.flatMap(implied(_, local))
    if (!Knowledge.hasComparedColumns(branch) || !knowledge.solvesBranches) Some(inColumns)
    else
      knowledge.ordered.intervals(knowledge.facts ++ conjuncts).map { found =>
        inColumns ++ representatives(local).flatMap { column =>
          val outside = knowledge.intervals.getOrElse(column.exprId, Interval.All)
          found.get(column.exprId).filter(_ != outside).toSeq.flatMap(knowledge.ordered.conditions(column, _, outside))
        }
      }
  }

  private def bounds: Iterator[InferredPredicate] = for {
    _ <- Iterator.single(()).filter(_ => knowledge.hasInequalities)
    column <- representatives(knowledge.equal).iterator
    interval <- knowledge.intervals.get(column.exprId).iterator
    condition <- knowledge.ordered.conditions(column, interval, Interval.All)
  } yield InferredPredicate(condition, InferredBy.Inequality)
}

/** Conditions that rows fulfil, and what follows from them without further ado. */
private[infer] final class Fulfilled(facts: Seq[Expression], ordered: Ordered) {
  private lazy val canonical: Set[Expression] = facts.map(_.canonicalized).toSet

  lazy val intervals: Map[ExprId, Interval] = ordered.intervals(facts).getOrElse(Map.empty)

  def plus(condition: Expression): Fulfilled = new Fulfilled(facts ++ Conditions.conjuncts(condition), ordered)

  /** Whether `condition` is true in every row that fulfils the facts; false if that is not seen. */
  def implies(condition: Expression): Boolean =
    holds(condition) || facts.exists { fact =>
      val branches = alternatives(fact)
      branches.size > 1 && branches.forall(branch => plus(branch).holds(condition))
    }

  private def holds(condition: Expression): Boolean = canonical(condition.canonicalized) || (condition match {
    case And(left, right)             => holds(left) && holds(right)
    case IsNotNull(column: Attribute) => facts.exists(isNeverNull(_, column))
    case EqualNullSafe(left, right)   => canonical(EqualTo(left, right).canonicalized)
    case _                            =>
      val branches = alternatives(condition)
      branches.size > 1 && branches.exists(holds) ||
      ordered.exactly(condition).exists { case (column, interval) => intervals.getOrElse(column, Interval.All).isWithin(interval) }
  })

  /** An IN list is an OR of equalities. */
  private def alternatives(condition: Expression): Seq[Expression] = condition match {
    case In(value, list) if list.size <= Fulfilled.MaxList && list.forall(_.isInstanceOf[Literal]) => list.map(EqualTo(value, _))
    case other                                                                                     => Conditions.disjuncts(other)
  }

  private def isNeverNull(fact: Expression, column: Attribute): Boolean = fact match {
    case _: EqualNullSafe                           => false
    case comparison: BinaryComparison               => comparison.children.exists(_.semanticEquals(column))
    case In(value, _)                               => value.semanticEquals(column)
    case InSet(value, _)                            => value.semanticEquals(column)
    case Not(inner @ (_: BinaryComparison | _: In)) => isNeverNull(inner, column)
    case _                                          => false
  }
}

private[infer] object Fulfilled {
  private val MaxList = 32
}
