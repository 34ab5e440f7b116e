package io.aqeplugin.observe

/** What one room keeps of a query beside its joins: a key of [[QueryState]], and how its value begins. */
final class QueryPart[A](first: => A) {
  def begin(): A = first
}

/** What is read when it is first asked for. */
final class ReadOnce[A](read: => A) {
  lazy val found: A = read
}
