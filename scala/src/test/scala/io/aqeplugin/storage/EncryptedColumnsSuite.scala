package io.aqeplugin.storage

import java.util.{Base64, Set => JavaSet}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.KeyAccessDeniedException
import org.apache.parquet.crypto.keytools.KmsClient
import org.apache.spark.sql.DataFrame
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession
import io.aqeplugin.metrics.Faults

/** Parquet's modular encryption: a user reads the columns whose keys it may have, and needs no key of another. */
class EncryptedColumnsSuite extends AnyFunSuite with PluginSession {
  import TokenKms.Asked

  private val Crypto = Map(
    "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class" -> classOf[TokenKms].getName
  )

  override protected def applicationConf: Map[String, String] = Crypto.map { case (key, value) => s"spark.hadoop.$key" -> value }

  /** Tables of 4 files, in which the first column, `secret`, has a key of its own. */
  private def written(name: String, plainFooter: Boolean): Unit = withConf("spark.aqePlugin.mode" -> "off") {
    val path = folder.resolve(name).toString
    spark.range(0, 400000, 1, 4).selectExpr("id AS secret", "id AS k", "CAST(id % 1000 AS STRING) AS text", "rand(1) AS a", "rand(2) AS b")
      .write.option("parquet.encryption.column.keys", "secretKey: secret")
      .option("parquet.encryption.footer.key", "footerKey")
      .option("parquet.encryption.plaintext.footer", plainFooter.toString)
      .option("parquet.encryption.key.access.token", "owner")
      .parquet(path)
    spark.read.schema("secret LONG, k LONG, text STRING, a DOUBLE, b DOUBLE").parquet(path).createOrReplaceTempView(name)
  }

  private lazy val tables: Unit = {
    written("encrypted", plainFooter = false)
    written("plain_footer", plainFooter = true)
    table("small", "SELECT id AS k FROM range(200)")
  }

  private def as[A](user: String)(body: => A): A = withConf("parquet.encryption.key.access.token" -> user) {
    tables
    Asked.clear()
    body
  }

  private def withoutFaults[A](body: => A): A = {
    val before = Faults.count
    val result = body
    assert(Faults.count == before)
    result
  }

  for {
    table <- Seq("encrypted", "plain_footer")
    query <- Seq(
      s"SELECT k, a FROM $table WHERE k < 20",
      s"SELECT t.k, t.a FROM $table t JOIN small s ON t.k = s.k WHERE s.k > 190",
      s"SELECT t.a FROM $table t JOIN small s ON t.text = CAST(s.k AS STRING) WHERE s.k > 198",
      s"SELECT k FROM $table ORDER BY k DESC LIMIT 10",
      s"SELECT a FROM $table WHERE k > 399990 LIMIT 5",
      s"SELECT count(*) FROM $table"
    )
  } test(s"a user without the key of a column that is not read has no fault, and asks for no such key: $query") {
    as("analyst")(withoutFaults(sameRows(spark.sql(query))))
    assert(!Asked.contains("analyst secretKey"))
  }

  test("the columns whose keys the user has are known from footers") {
    val ran = as("analyst")(sameRows(spark.sql("SELECT t.k, t.a FROM encrypted t JOIN small s ON t.k = s.k WHERE s.k > 190")))
    assert(ran.decided.exists(_.decision.at("/facts/probe/scanRowsSource").textValue == "footers"), ran.decided)
  }

  test("an owner who reads the secret column has its range") {
    def facts(frame: DataFrame) = collectFirst(frame.queryExecution.executedPlan) {
      case scan: org.apache.spark.sql.execution.FileSourceScanExec => scan
    }.flatMap(new FooterStatistics(FooterSummary.reader, _.run()).of(_))
    def ranges(user: String, columns: String) = as(user)(facts(spark.sql(s"SELECT $columns FROM encrypted")).map(_.ranges.keySet))
    assert(ranges("owner", "secret").contains(Set("secret")) && Asked.contains("owner secretKey"))
    assert(ranges("owner", "k, a").contains(Set("k")))
    withoutFaults {
      assert(ranges("analyst", "k, secret").contains(Set("k")))
      assert(as("nobody")(facts(spark.sql("SELECT k FROM encrypted"))).forall(_.rows.isEmpty))
    }
  }

  test("a query that may not read its column fails as Spark alone, and has no fault of ours") {
    val query = "SELECT t.secret FROM encrypted t JOIN small s ON t.secret = s.k ORDER BY t.secret LIMIT 3"
    val errors = Seq("off", "apply").map(mode =>
      as("analyst")(withConf("spark.aqePlugin.mode" -> mode)(withoutFaults(intercept[Exception](spark.sql(query).collect()))))
    )
    assert(errors.map(_.getClass).distinct.size == 1, errors)
  }
}

/** Wraps keys by turning their bits; a user, whose token is its name, gets the keys that it may have. */
final class TokenKms extends KmsClient {
  import TokenKms.{Asked, Keys}

  private var user = ""

  override def initialize(conf: Configuration, instance: String, url: String, token: String): Unit = user = token

  override def wrapKey(key: Array[Byte], master: String): String = Base64.getEncoder.encodeToString(key.map(byte => (~byte).toByte))

  override def unwrapKey(wrapped: String, master: String): Array[Byte] = {
    val _ = Asked.add(s"$user $master")
    if (!Keys.getOrElse(user, Set.empty[String])(master)) throw new KeyAccessDeniedException(s"$user may not have $master")
    Base64.getDecoder.decode(wrapped).map(byte => (~byte).toByte)
  }
}

object TokenKms {
  val Keys: Map[String, Set[String]] = Map("owner" -> Set("footerKey", "secretKey"), "analyst" -> Set("footerKey"))

  /** User and key of each request. */
  val Asked: JavaSet[String] = ConcurrentHashMap.newKeySet[String]()
}
