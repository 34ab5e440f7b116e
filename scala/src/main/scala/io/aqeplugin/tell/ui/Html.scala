package io.aqeplugin.tell.ui

import scala.xml.{Elem, MetaData, Node, Null, Text, TopScope, UnprefixedAttribute}

/** Elements of a page. Text and attributes are escaped when written, so names of queries and tables stay text. */
object Html {

  def el(name: String, attributes: (String, String)*)(children: Node*): Elem = {
    val all = attributes.foldRight[MetaData](Null) { case ((key, value), rest) => new UnprefixedAttribute(key, value, rest) }
    Elem(Option.empty[String].orNull, name, all, TopScope, minimizeEmpty = false, children: _*)
  }

  def text(value: String): Node = Text(visible(value))

  def link(address: String, name: String): Elem = el("a", "href" -> address)(text(name))

  def strong(value: String): Elem = el("strong")(text(value))

  /** A list of facts in the style of Spark's other pages, which have it above their tables. */
  def facts(entries: (String, Seq[Node])*): Elem =
    el("ul", "class" -> "list-unstyled")(entries.map { case (name, value) => el("li")(strong(s"$name: ") +: value: _*) }: _*)

  /** @param tableClass
    *   how Spark's tables look
    */
  def table(id: String, tableClass: String, headers: Seq[String], rows: Seq[Node]): Elem =
    el("table", "class" -> tableClass, "id" -> id)(
      el("thead")(el("tr")(headers.map(header => el("th")(text(header))): _*)),
      el("tbody")(rows: _*)
    )

  def row(cells: Seq[Node]*): Elem = el("tr")(cells.map(cell => el("td")(cell: _*)): _*)

  def alert(message: String): Seq[Node] = Seq(el("div", "class" -> "alert alert-warning", "role" -> "alert")(text(message)))

  /** `value` with control characters and characters that change the writing direction replaced by their escapes. */
  def visible(value: String): String = value.flatMap {
    case keep @ ('\n' | '\t')              => keep.toString
    case hidden if Hidden.contains(hidden) => f"\\u${hidden.toInt}%04x"
    case other                             => other.toString
  }

  /** `value`, truncated to `length` characters. */
  def cut(value: String, length: Int): String = if (value.length <= length) value else value.take(length) + "…"

  private val Hidden: Set[Char] = Seq(
    '\u0000' to '\u001f',
    '\u007f' to '\u009f',
    '\u200e' to '\u200f',
    '\u202a' to '\u202e',
    '\u2066' to '\u2069'
  ).flatten.toSet
}
