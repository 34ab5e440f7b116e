package io.aqeplugin.storage

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

/** Members of Iceberg's classes, by name: the plugin does not depend on Iceberg. Every call throws what reflection throws, and what the member throws. */
private[storage] object IcebergMembers {
  val Package = "org.apache.iceberg."

  def loaderOf(owner: AnyRef): ClassLoader = owner.getClass.getClassLoader

  def interface(owner: AnyRef, name: String): Class[_] = Class.forName(Package + name, true, loaderOf(owner))

  /** The result of a method of an interface, which the class of `owner` may not make public. */
  def publicly(owner: AnyRef, interfaceName: String, method: String): AnyRef =
    interface(owner, interfaceName).getMethod(method).invoke(owner)

  /** Gives `read` each task that the planning of one of Iceberg's scans finds, one for each data file. Reads manifests. */
  def eachTask(scan: AnyRef)(read: AnyRef => Unit): Unit = publicly(scan, "Scan", "planFiles") match {
    case found: java.lang.Iterable[_] with AutoCloseable =>
      try found.asScala.iterator.collect { case task: AnyRef => task }.foreach(read)
      finally found.close()
    case _ =>
  }

  /** The result of a method of a public class. */
  def of(owner: AnyRef, method: String): AnyRef = owner.getClass.getMethod(method).invoke(owner)

  /** The result of a method that is meant for the package of `owner`, of that name and number of arguments. */
  def withinPackage(owner: AnyRef, method: String, arguments: AnyRef*): AnyRef = {
    val found = inherited(owner.getClass)(_.getDeclaredMethods.find(m => m.getName == method && m.getParameterCount == arguments.size))
    found.setAccessible(true)
    found.invoke(owner, arguments: _*)
  }

  /** The value of a field that is meant for a class of `owner` alone. */
  def privately(owner: AnyRef, name: String): AnyRef = {
    val found = inherited(owner.getClass)(_.getDeclaredFields.find(_.getName == name))
    found.setAccessible(true)
    found.get(owner)
  }

  @tailrec
  private def inherited[A](in: Class[_])(find: Class[_] => Option[A]): A = find(in) match {
    case Some(member) => member
    case None         => inherited(in.getSuperclass)(find)
  }
}
