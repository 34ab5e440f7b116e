package io.aqeplugin.conf

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** Values that a share of the applications tries while the others keep their own.
  *
  * @param share
  *   share of the applications, more than 0 and at most 1
  * @param values
  *   at least one value, each for another key
  */
final case class Canary(share: Double, values: Seq[CanaryValue]) {

  /** Whether an application is in the canary. It stays in when the share grows. */
  def draws(applicationId: String): Boolean = Canary.position(applicationId) < share

  /** The values that a canary application gets, by key. A key that the application set itself keeps its value.
    *
    * @param conf
    *   the application's text for a key, if it has one
    */
  def assigned(conf: String => Option[String]): Seq[(String, String)] =
    values.filter(value => value.isThat(conf, value.replaces)).map(value => value.entry.key -> value.text)

  /** The arm of a query.
    *
    * @param conf
    *   the session's text for a key, if it has one
    */
  def arm(applicationId: String, conf: String => Option[String]): TrialArm = {
    val drawn = draws(applicationId)
    if (!values.forall(value => value.isThat(conf, if (drawn) Some(value.text) else value.replaces))) TrialArm.Own
    else if (drawn) TrialArm.Canary
    else TrialArm.Control
  }
}

/** A value to try.
  *
  * @param replaces
  *   the text that the conf of all applications has for the key, if any; an application with another value set it itself
  */
final case class CanaryValue(entry: ConfEntry[_], text: String, replaces: Option[String]) {
  private[conf] def isThat(conf: String => Option[String], expected: Option[String]): Boolean =
    conf(entry.key).map(entry.parse) == expected.map(entry.parse)
}

object Canary {

  /** The prefix of every canary key. */
  val Prefix: String = AqeConf.Prefix + "canary."

  val SetPrefix: String = Prefix + "set."
  val ReplacesPrefix: String = Prefix + "replaces."

  /** The position of an application in [0, 1): the first 53 bits of the SHA-256 of its id in UTF-8, as a fraction. The tests
    * in both languages compare it with `tests/vectors/canary/`.
    */
  def position(applicationId: String): Double = {
    val digest = MessageDigest.getInstance("SHA-256").digest(applicationId.getBytes(UTF_8))
    (ByteBuffer.wrap(digest).getLong >>> (java.lang.Long.SIZE - DoubleBits)).toDouble / (1L << DoubleBits)
  }

  private val DoubleBits = 53

  /** The canary that a conf describes, or a sentence about the first bad key in alphabetical order; one bad key discards the whole canary.
    * None when the share is 0 or there is no value to try.
    *
    * @param conf
    *   every key below [[Prefix]], by its full name
    */
  def read(conf: Map[String, String]): Either[String, Option[Canary]] = {
    val keys = conf.keys.toSeq.sorted
    val problems = keys.iterator.flatMap(key => problem(key, conf))
    problems.nextOption() match {
      case Some(problem) => Left(problem)
      case None          =>
        val share = AqeConf.CanaryShare.in(conf.get)
        val values = keys.filter(_.startsWith(SetPrefix)).flatMap { key =>
          val name = key.stripPrefix(SetPrefix)
          triable(name).map(entry => CanaryValue(entry, conf(key), conf.get(ReplacesPrefix + name)))
        }
        Right(Some(Canary(share, values)).filter(canary => canary.share > 0 && canary.values.nonEmpty))
    }
  }

  private def problem(key: String, conf: Map[String, String]): Option[String] =
    if (key == AqeConf.CanaryShare.key) AqeConf.CanaryShare.parse(conf(key)).left.toOption.map(_.message)
    else if (key.startsWith(SetPrefix)) badValue(key, key.stripPrefix(SetPrefix), conf)
    else if (key.startsWith(ReplacesPrefix)) {
      val name = key.stripPrefix(ReplacesPrefix)
      badValue(key, name, conf).orElse(Option.when(!conf.contains(SetPrefix + name))(s"$key is set without ${SetPrefix + name}."))
    } else Some(s"$key is not a key of the plugin.")

  private def badValue(key: String, name: String, conf: Map[String, String]): Option[String] = triable(name) match {
    case None        => Some(s"$key: ${AqeConf.Prefix}$name is not a key that a session may set.")
    case Some(entry) => entry.parse(conf(key)).left.toOption.map(error => error.copy(key = key).message)
  }

  private def triable(name: String): Option[ConfEntry[_]] = AqeConf.PerSession.find(_.shortKey == name)
}
