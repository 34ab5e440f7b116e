package io.aqeplugin.conf

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.aqeplugin.SparkBridge
import org.apache.spark.sql.internal.SQLConf

/** Reads the plugin's settings from a Spark session. Every query asks, and most sessions say the same: what is parsed of the same keys and values is
  * kept.
  */
object SessionConf {

  /** Keys under the plugin's prefix, in capital or small letters, that the plugin does not have. Keys of a canary are checked when the application starts. */
  def unknownKeys(conf: SQLConf): Seq[String] = said(conf).unknownKeys

  /** Whether the plugin is switched off, whatever its other keys are. */
  def isOff(conf: SQLConf): Boolean = said(conf).isOff

  /** How far predicates are inferred: the lesser of both modes. A value that is not allowed counts as off; the rules of joins report it. */
  def predicatesMode(conf: SQLConf): Mode = said(conf).predicatesMode

  /** How far limits read fewer files, likewise. */
  def limitMode(conf: SQLConf): Mode = said(conf).limitMode

  /** The plugin's present settings in `conf`; a bad value of [[AqeConf.Force]] forces nothing. */
  def read(conf: SQLConf): Either[ConfError, Settings] = said(conf).settings

  /** What is wrong with the options that are forced, which nothing else depends on. */
  def badForce(conf: SQLConf): Option[ConfError] = said(conf).badForce

  /** The arm of a query with `conf`; none when the application has no canary.
    *
    * @param application
    *   the application's conf, which no session can change
    */
  def arm(conf: SQLConf, applicationId: String, application: => Map[String, String]): Option[TrialArm] = {
    val values = said(conf).values
    for {
      _ <- values.get(AqeConf.CanaryShare.key) // without this key, the application's conf is not read
      canary <- Canary.read(application.filter { case (key, _) => key.startsWith(Canary.Prefix) }).toOption.flatten
    } yield canary.arm(applicationId, values.get)
  }

  private val KnownKeys = AqeConf.All.map(_.key).toSet

  /** What a conf says of the plugin. */
  private final class Said(val values: Map[String, String]) {
    lazy val badForce: Option[ConfError] = values.get(AqeConf.Force.key).flatMap(AqeConf.Force.parse(_).left.toOption)
    lazy val settings: Either[ConfError, Settings] = AqeConf.read(badForce.fold(values)(bad => values - bad.key).get)
    lazy val unknownKeys: Seq[String] = values.keys.filter(key => !key.startsWith(Canary.Prefix) && !KnownKeys(key)).toSeq.sorted
    lazy val isOff: Boolean = values.get(AqeConf.ModeKey.key).map(AqeConf.ModeKey.parse).contains(Right(Mode.Off))
    lazy val predicatesMode: Mode = lesser(AqeConf.PredicatesMode)
    lazy val limitMode: Mode = lesser(AqeConf.LimitMode)

    private def lesser(feature: ConfEntry[Mode]): Mode = {
      def mode(entry: ConfEntry[Mode]): Mode = values.get(entry.key).fold(entry.default)(entry.parse(_).getOrElse(Mode.Off))
      Seq(mode(AqeConf.ModeKey), mode(feature)).minBy(Mode.All.indexOf(_))
    }
  }

  private val MostKept = 64
  private val kept = new ConcurrentHashMap[Map[String, String], Said]()

  private def said(conf: SQLConf): Said = {
    val values = SparkBridge.valuesUnder(conf, AqeConf.Prefix)
    Option(kept.get(values)).getOrElse {
      if (kept.size >= MostKept) kept.clear()
      kept.computeIfAbsent(values, new Said(_))
    }
  }
}
