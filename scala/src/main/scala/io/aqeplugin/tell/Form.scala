package io.aqeplugin.tell

import java.lang.reflect.{Parameter, ParameterizedType, Type}
import java.util.Locale

import scala.reflect.ClassTag

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.aqeplugin.conf.{Named, Names}
import io.aqeplugin.decide.{JoinOption, PathStep, Strategy, Told}

/** The JSON form of a class: its schema, and how its values are written and read.
  *
  * Reading what was written gives the same value. Unknown fields are skipped, so that documents of a newer plugin can be read. A field that is
  * missing or null is an error, such as `facts.build.rows: missing`, unless it is optional.
  */
private[tell] sealed trait Form[A] {
  def schema: ObjectSchema

  /** The schemas of the objects inside. */
  private[tell] def parts: Seq[ObjectSchema]
  private[tell] def writeInto(node: ObjectNode, value: A): Unit
  private[tell] def readFields(node: JsonNode, path: String): Either[String, A]

  /** Its own schema, then those of the objects inside. */
  final def objects: Seq[ObjectSchema] = (schema +: parts).distinctBy(_.name)

  final def write(value: A): ObjectNode = {
    val node = Json.Nodes.objectNode()
    writeInto(node, value)
    node
  }

  /** @param path
    *   of the object in its document, for errors
    */
  final def read(node: JsonNode, path: String = ""): Either[String, A] =
    if (node.isObject) readFields(node, path) else Left(s"${if (path.isEmpty) "" else s"$path: "}expected an object, got $node")

  final def readText(text: String): Either[String, A] = Json.parseObject(text).flatMap(read(_))

  final def readList(node: JsonNode): Either[String, Seq[A]] =
    new Kind.ListOf(new Kind.OfObject(this)).read(node, "event").map(_.asInstanceOf[Seq[A]])
}

private[tell] object Form {

  /** The form of a case class, by the [[Told]] of its fields. Their names are those in JSON. */
  def of[A](implicit tag: ClassTag[A]): Form[A] = ofClass(tag.runtimeClass).asInstanceOf[Form[A]]

  private def ofClass(of: Class[_]): Form[_] = special.getOrElse(of, new OfCaseClass[Any](of))

  /** What JSON tells in another way than by the fields of the class. */
  private lazy val special: Map[Class[_], Form[_]] = Map(
    classOf[JoinOption] -> new OfOption,
    classOf[PathStep] -> new OneOf[PathStep](
      classOf[PathStep],
      "work",
      "what the operator does with the row",
      Seq(
        classOf[PathStep.Shuffle],
        classOf[PathStep.Sort],
        classOf[PathStep.Merge],
        classOf[PathStep.Lookup],
        classOf[PathStep.Broadcast],
        classOf[PathStep.Group],
        classOf[PathStep.Shared],
        classOf[PathStep.FilterSource]
      )
    )
  )

  private final class OfCaseClass[A](of: Class[_]) extends Form[A] {
    private val told = of.getAnnotation(classOf[Told])
    private val constructor = of.getConstructors.head
    private val members =
      constructor.getParameters.toSeq.zip(constructor.getGenericParameterTypes).zipWithIndex.map { case ((parameter, kind), i) =>
        Member(parameter, kind, defaultOf(of, i))
      }

    val schema: ObjectSchema =
      ObjectSchema(
        Option(told).map(_.name).filter(_.nonEmpty).getOrElse(of.getSimpleName),
        Option(told).fold("")(_.doc),
        members.flatMap(_.fields)
      )
    def parts: Seq[ObjectSchema] = members.flatMap(_.objects)

    def writeInto(node: ObjectNode, value: A): Unit =
      members.iterator.zip(value.asInstanceOf[Product].productIterator).foreach { case (member, part) => member.write(node, part) }

    def readFields(node: JsonNode, path: String): Either[String, A] =
      all(members)(_.read(node, path)).map(values => constructor.newInstance(values.map(_.asInstanceOf[AnyRef]): _*).asInstanceOf[A])
  }

  /** One of several case classes, which a field tells by its name; the other fields are those of the class. */
  private final class OneOf[A](of: Class[_], field: String, doc: String, classes: Seq[Class[_ <: A]]) extends Form[A] {
    // Made once: decisions are written while their query is planned.
    private val nameOf: Map[Class[_], String] = classes.map(found => found -> snakeCase(found.getSimpleName)).toMap
    private val forms: Map[String, Form[Any]] = classes.map(found => nameOf(found) -> new OfCaseClass[Any](found)).toMap
    private val name = new Member.Plain(FieldSchema(field, "text", "", doc, values = classes.map(nameOf)), Kind.Text, false, None)

    val schema: ObjectSchema = {
      val all = classes.flatMap(found => forms(nameOf(found)).schema.fields.map(nameOf(found) -> _))
      val merged = all.map(_._2.name).distinct.map { same =>
        val found = all.filter(_._2.name == same)
        val docs = found.groupMap(_._2.doc)(_._1).toSeq.sortBy(_._2.head).map { case (what, of) => s"of ${of.mkString(", ")}: $what" }
        val ofAll = found.size == classes.size
        found.head._2.copy(doc = if (ofAll) found.head._2.doc else docs.mkString("; "), required = ofAll)
      }
      ObjectSchema(of.getSimpleName, of.getAnnotation(classOf[Told]).doc, name.field +: merged)
    }
    def parts: Seq[ObjectSchema] = Nil

    def writeInto(node: ObjectNode, value: A): Unit = {
      val found = nameOf(value.getClass)
      name.write(node, found)
      forms(found).writeInto(node, value)
    }

    def readFields(node: JsonNode, path: String): Either[String, A] = for {
      found <- name.read(node, path)
      form <- forms.get(found.toString).toRight(s"${at(path, field)}: unknown name '$found'")
      value <- form.readFields(node, path)
    } yield value.asInstanceOf[A]
  }

  /** An option by the names that events have for it. */
  private final class OfOption extends Form[JoinOption] {
    private val named = new OfCaseClass[NamedOption](classOf[NamedOption])
    def schema: ObjectSchema = named.schema
    def parts: Seq[ObjectSchema] = Nil
    def writeInto(node: ObjectNode, value: JoinOption): Unit = named.writeInto(node, NamedOption(value.strategy, value.withFilter))
    def readFields(node: JsonNode, path: String): Either[String, JoinOption] =
      named.readFields(node, path).flatMap(found => JoinOption.of(found.strategy, found.withFilter).toRight(s"$path: ${found.isNone}"))
  }

  private[tell] final case class NamedOption(
      @Told(doc = "the join strategy") strategy: Strategy,
      @Told(doc = "whether the probe side's scans have a filter") withFilter: Boolean
  ) {
    def isNone: String = s"${strategy.name} ${if (withFilter) "with" else "without"} a filter is no option"
  }

  /** One field of a case class, which is one or several fields in JSON. */
  private sealed trait Member {
    def fields: Seq[FieldSchema]
    def objects: Seq[ObjectSchema]
    def write(node: ObjectNode, value: Any): Unit
    def read(node: JsonNode, path: String): Either[String, Any]
  }

  private object Member {

    def apply(parameter: Parameter, declared: Type, default: => Option[Any]): Member = {
      val told = parameter.getAnnotation(classOf[Told])
      val (isOption, inner) = declared match {
        case option: ParameterizedType if option.getRawType == classOf[Option[_]] => (true, option.getActualTypeArguments.head)
        case other                                                                => (false, other)
      }
      if (told.flat) new Flat(ofClass(inner.asInstanceOf[Class[_]]).asInstanceOf[Form[Any]], isOption)
      else {
        val kind = kindOf(inner, told)
        val name = if (told.name.isEmpty) parameter.getName else told.name
        val schema = FieldSchema(name, kind.name, told.unit, told.doc, required = !isOption && !told.optional, kind.values)
        new Plain(schema, kind, isOption, if (told.optional) default else None)
      }
    }

    final class Plain(val field: FieldSchema, kind: Kind, isOption: Boolean, default: Option[Any]) extends Member {
      def fields: Seq[FieldSchema] = Seq(field)
      def objects: Seq[ObjectSchema] = kind.objects

      def write(node: ObjectNode, value: Any): Unit = {
        val told = value match {
          case option: Option[_]     => option
          case "" if !field.required => None
          case other                 => Some(other)
        }
        val _ = node.set[ObjectNode](field.name, told.fold[JsonNode](Json.Nodes.nullNode())(kind.write))
      }

      def read(node: JsonNode, path: String): Either[String, Any] = {
        val where = at(path, field.name)
        Option(node.get(field.name)).filterNot(found => found.isNull || found.isMissingNode) match {
          case Some(found)      => kind.read(found, where).map(value => if (isOption) Some(value) else value)
          case None if isOption => Right(None)
          case None             => default.toRight(s"$where: missing")
        }
      }
    }

    /** The fields of an object are those of the object around it. */
    final class Flat(form: Form[Any], isOption: Boolean) extends Member {
      val fields: Seq[FieldSchema] = if (isOption) form.schema.fields.map(_.copy(required = false)) else form.schema.fields
      def objects: Seq[ObjectSchema] = form.parts

      def write(node: ObjectNode, value: Any): Unit = value match {
        case None        => fields.foreach(field => node.putNull(field.name))
        case Some(inner) => form.writeInto(node, inner)
        case inner       => form.writeInto(node, inner)
      }

      def read(node: JsonNode, path: String): Either[String, Any] =
        if (!isOption) form.readFields(node, path)
        else if (fields.forall(field => node.hasNonNull(field.name))) form.readFields(node, path).map(Some(_))
        else Right(None)
    }
  }

  private def kindOf(declared: Type, told: Told): Kind = declared match {
    case list: ParameterizedType                  => new Kind.ListOf(kindOf(list.getActualTypeArguments.head, told))
    case _ if told.kind == Kind.Number.name       => Kind.Number
    case _ if told.kind.nonEmpty                  => new Kind.Raw(told.kind, Nil)
    case _ if told.names != classOf[Object]       => new Kind.Raw("text", namesOf(told.names).fold(Seq.empty[String])(_.All.map(_.name)))
    case one: Class[_] if one == classOf[String]  => Kind.Text
    case one: Class[_] if one == classOf[Boolean] => Kind.Flag
    case one: Class[_] if one == classOf[Int]     => Kind.Whole32
    case one: Class[_] if one == classOf[Double]  => Kind.Number
    // Java does not know of which primitive type an Option is.
    case one: Class[_] if one == classOf[Long] || one == classOf[Object] => Kind.Whole
    case one: Class[_] => namesOf(one).fold[Kind](new Kind.OfObject(ofClass(one)))(new Kind.OfNames(_))
    case other         => throw new IllegalArgumentException(s"no JSON form for $other")
  }

  private def namesOf(of: Class[_]): Option[Names[_ <: Named]] =
    companion(of).collect { case names: Names[_] => names.asInstanceOf[Names[_ <: Named]] }

  private def defaultOf(of: Class[_], parameter: Int): Option[Any] = companion(of).flatMap { found =>
    found.getClass.getMethods.find(_.getName == s"$$lessinit$$greater$$default$$${parameter + 1}").map(_.invoke(found))
  }

  private def companion(of: Class[_]): Option[AnyRef] =
    scala.util.Try(Class.forName(s"${of.getName}$$", true, of.getClassLoader).getField("MODULE$").get(None.orNull)).toOption

  private def snakeCase(name: String): String = name.replaceAll("(?<=.)([A-Z])", "_$1").toLowerCase(Locale.ROOT)

  private def at(path: String, field: String): String = if (path.isEmpty) field else s"$path.$field"

  /** All results, or the first error. */
  private[tell] def all[A, B](of: Seq[A])(read: A => Either[String, B]): Either[String, Seq[B]] =
    of.foldLeft[Either[String, Vector[B]]](Right(Vector.empty))((done, next) => done.flatMap(found => read(next).map(found :+ _)))
}
