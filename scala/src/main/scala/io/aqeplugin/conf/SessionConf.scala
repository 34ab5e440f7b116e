package io.aqeplugin.conf

import org.apache.spark.sql.internal.SQLConf

/** Reads the plugin's settings from a Spark session. */
object SessionConf {

  private val KnownKeys = AqeConf.All.map(_.key).toSet

  /** Keys under the plugin's prefix, in capital or small letters, that the plugin does not have. Keys of a canary are checked when the application starts. */
  def unknownKeys(conf: SQLConf): Seq[String] =
    conf.getAllConfs.keysIterator.filter(key =>
      key.regionMatches(true, 0, AqeConf.Prefix, 0, AqeConf.Prefix.length) && !key.startsWith(Canary.Prefix) && !KnownKeys(key)
    ).toSeq.sorted

  /** Whether the plugin is switched off, whatever its other keys are. */
  def isOff(conf: SQLConf): Boolean =
    get(conf, AqeConf.ModeKey.key).map(AqeConf.ModeKey.parse).contains(Right(Mode.Off))

  /** How far predicates are inferred: the lesser of both modes. A value that is not allowed counts as off; the rules of joins report it. */
  def predicatesMode(conf: SQLConf): Mode = lesser(conf, AqeConf.PredicatesMode)

  /** How far limits read fewer files, likewise. */
  def limitMode(conf: SQLConf): Mode = lesser(conf, AqeConf.LimitMode)

  private def lesser(conf: SQLConf, feature: ConfEntry[Mode]): Mode = {
    def mode(entry: ConfEntry[Mode]): Mode = get(conf, entry.key).fold(entry.default)(entry.parse(_).getOrElse(Mode.Off))
    Seq(mode(AqeConf.ModeKey), mode(feature)).minBy(Mode.All.indexOf(_))
  }

  /** The arm of a query with `conf`; none when the application has no canary.
    *
    * @param application
    *   the application's conf, which no session can change
    */
  def arm(conf: SQLConf, applicationId: String, application: => Map[String, String]): Option[TrialArm] = for {
    _ <- get(conf, AqeConf.CanaryShare.key) // without this key, the application's conf is not read
    canary <- Canary.read(application.filter { case (key, _) => key.startsWith(Canary.Prefix) }).toOption.flatten
  } yield canary.arm(applicationId, get(conf, _))

  /** The plugin's present settings in `conf`. */
  def read(conf: SQLConf): Either[ConfError, Settings] =
    AqeConf.read(get(conf, _))

  private def get(conf: SQLConf, key: String): Option[String] = Option(conf.getConfString(key, null))
}
