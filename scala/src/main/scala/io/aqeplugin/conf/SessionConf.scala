package io.aqeplugin.conf

import org.apache.spark.sql.internal.SQLConf

/** Where a Spark session's settings come from. */
object SessionConf {

  /** Where the plugin keeps the name of the user's own cost evaluator, which it calls. */
  val WrappedCostEvaluator: String = AqeConf.Prefix + "wrappedCostEvaluatorClass"

  private val KnownKeys = AqeConf.All.map(_.key).toSet + WrappedCostEvaluator

  /** Keys under the plugin's prefix that are none of its own. */
  def unknownKeys(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key => key.startsWith(AqeConf.Prefix) && !KnownKeys(key)).toSeq.sorted

  /** Whether the plugin is switched off, whatever its other keys say. */
  def isOff(conf: SQLConf): Boolean =
    Option(conf.getConfString(AqeConf.ModeKey.key, null)).map(AqeConf.ModeKey.parse).contains(Right(Mode.Off))

  /** The plugin's settings as `conf` has them at this moment. */
  def read(conf: SQLConf): Either[ConfError, Settings] =
    AqeConf.read(key => Option(conf.getConfString(key, null)))
}
