package io.aqeplugin;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** The Spark and Scala versions that this jar fits. Internal planning classes change between minor releases, so a jar serves one line only. */
public final class SparkLine {

  /** All lines with a jar; `project/SparkLines.scala` defines their builds. */
  static final List<String> SUPPORTED = Collections.unmodifiableList(Arrays.asList("4.0", "4.1", "4.2", "4.3"));

  private SparkLine() {}

  /** The line of a Spark version, {@code 4.1} for {@code 4.1.3}, or the binary version of a Scala version. */
  static String of(String version) {
    String[] parts = version.split("[.-]");
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }

  /** The running Spark's version. */
  public static String versionOfSpark() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /** The version of Spark's Scala library. */
  public static String versionOfScala() {
    return scala.util.Properties.versionNumberString();
  }

  /** The message for users if this jar was not built for these two versions; empty if it was. */
  public static Optional<String> mismatch(String spark, String scala) {
    return mismatch(spark, scala, CompiledLine.SPARK, CompiledLine.SCALA);
  }

  static Optional<String> mismatch(String spark, String scala, String compiledSpark, String compiledScala) {
    String line = of(spark);
    String supported = String.join(", ", SUPPORTED);
    if (!SUPPORTED.contains(line)) {
      return Optional.of("aqe-plugin: Spark " + spark + " is not supported; supported lines are " + supported + ". " + INACTIVE);
    }
    if (!line.equals(compiledSpark)) {
      return Optional.of(
          "aqe-plugin: this jar is for Spark " + compiledSpark + " and this is Spark " + spark + ". Use the jar for " + line
              + " (aqe-plugin path jar --spark " + line + "). " + INACTIVE);
    }
    if (!of(scala).equals(compiledScala)) {
      return Optional.of(
          "aqe-plugin: this jar is for Scala " + compiledScala + " and this Spark " + spark + " runs on Scala " + scala
              + ". Use a Spark built with Scala " + compiledScala + ". " + INACTIVE);
    }
    return Optional.empty();
  }

  private static final String INACTIVE = "The plugin is inactive; queries run as without it.";
}
