package io.aqeplugin.storage

import java.lang.reflect.Method

import scala.annotation.tailrec

/** Members of Iceberg's classes, by name: the plugin does not depend on Iceberg. Every call throws what reflection throws, and what the member throws. */
private[storage] object IcebergMembers {
  val Package = "org.apache.iceberg."

  def loaderOf(owner: AnyRef): ClassLoader = owner.getClass.getClassLoader

  def interface(owner: AnyRef, name: String): Class[_] = Class.forName(Package + name, true, loaderOf(owner))

  /** The result of a method of an interface, which the class of `owner` may not make public. */
  def publicly(owner: AnyRef, interfaceName: String, method: String): AnyRef =
    interface(owner, interfaceName).getMethod(method).invoke(owner)

  /** The result of a method of a public class. */
  def of(owner: AnyRef, method: String): AnyRef = owner.getClass.getMethod(method).invoke(owner)

  /** The result of a method that is meant for the package of `owner`. */
  def withinPackage(owner: AnyRef, method: String): AnyRef = {
    val found = declared(owner.getClass, method)
    found.setAccessible(true)
    found.invoke(owner)
  }

  @tailrec
  private def declared(in: Class[_], name: String): Method =
    in.getDeclaredMethods.find(method => method.getName == name && method.getParameterCount == 0) match {
      case Some(found) => found
      case None        => declared(in.getSuperclass, name)
    }
}
