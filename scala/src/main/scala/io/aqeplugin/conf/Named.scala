package io.aqeplugin.conf

/** A value of a closed list, which confs, events and tables hold by its name. */
trait Named {
  def name: String
}

/** The list of these values: the companion of their class. */
trait Names[A <: Named] {
  def All: Seq[A]

  final def fromName(name: String): Option[A] = All.find(_.name == name)
}

/** Names that are listed by their definitions, in this order. */
trait DefinedNames[A <: Named] extends Names[A] {
  private val defined = Seq.newBuilder[A]

  protected final def define[B <: A](one: B): B = {
    defined += one
    one
  }

  final lazy val All: Seq[A] = defined.result()
}
