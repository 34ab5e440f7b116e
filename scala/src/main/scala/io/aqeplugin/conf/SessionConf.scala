package io.aqeplugin.conf

import org.apache.spark.sql.internal.SQLConf

/** Where a Spark session's settings come from. */
object SessionConf {

  /** Where the plugin keeps the name of the user's own cost evaluator, which it calls. */
  val WrappedCostEvaluator: String = AqeConf.Prefix + "wrappedCostEvaluatorClass"

  private val KnownKeys = AqeConf.All.map(_.key).toSet + WrappedCostEvaluator

  /** Keys under the plugin's prefix that are none of its own; those of a canary are judged when the application starts. */
  def unknownKeys(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key =>
      key.startsWith(AqeConf.Prefix) && !key.startsWith(Canary.Prefix) && !KnownKeys(key)
    ).toSeq.sorted

  /** Whether the plugin is switched off, whatever its other keys say. */
  def isOff(conf: SQLConf): Boolean =
    get(conf, AqeConf.ModeKey.key).map(AqeConf.ModeKey.parse).contains(Right(Mode.Off))

  /** The side of the application's canary that a query with `conf` is on; none when nothing is tried.
    *
    * @param application
    *   what the conf of the application holds, which no session can change
    */
  def arm(conf: SQLConf, applicationId: String, application: => Map[String, String]): Option[TrialArm] = for {
    _ <- get(conf, AqeConf.CanaryShare.key) // spares most applications a look at all that their conf holds
    canary <- Canary.read(application.filter { case (key, _) => key.startsWith(Canary.Prefix) }).toOption.flatten
  } yield canary.arm(applicationId, get(conf, _))

  /** The plugin's settings as `conf` has them at this moment. */
  def read(conf: SQLConf): Either[ConfError, Settings] =
    AqeConf.read(get(conf, _))

  private def get(conf: SQLConf, key: String): Option[String] = Option(conf.getConfString(key, null))
}
