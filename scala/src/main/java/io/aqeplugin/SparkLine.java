package io.aqeplugin;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Which Spark and Scala this jar fits. Internal planning classes change between minor releases, so a jar serves one line only. */
public final class SparkLine {

  /** All lines there is a jar for; `project/SparkLines.scala` says how each is built. */
  static final List<String> SUPPORTED = Collections.unmodifiableList(Arrays.asList("4.0", "4.1", "4.2"));

  private SparkLine() {}

  /** The line of a version, {@code 4.1} for {@code 4.1.3}; also the binary version of a Scala. */
  static String of(String version) {
    String[] parts = version.split("[.-]");
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }

  /** The Spark that runs. */
  public static String versionOfSpark() {
    return org.apache.spark.package$.MODULE$.SPARK_VERSION();
  }

  /** The Scala library that Spark brought. */
  public static String versionOfScala() {
    return scala.util.Properties.versionNumberString();
  }

  /** What to tell the user when this jar was not built for these two; empty when it was. */
  public static Optional<String> mismatch(String spark, String scala) {
    return mismatch(spark, scala, CompiledLine.SPARK, CompiledLine.SCALA);
  }

  static Optional<String> mismatch(String spark, String scala, String compiledSpark, String compiledScala) {
    String line = of(spark);
    String supported = String.join(", ", SUPPORTED);
    if (!SUPPORTED.contains(line)) {
      return Optional.of("aqe-plugin: Spark " + spark + " is not supported; supported lines are " + supported + ". " + STANDS_DOWN);
    }
    if (!line.equals(compiledSpark)) {
      return Optional.of(
          "aqe-plugin: this jar is for Spark " + compiledSpark + " and this is Spark " + spark + ". Use the jar for " + line
              + " (aqe-plugin jar-path --spark " + line + "). " + STANDS_DOWN);
    }
    if (!of(scala).equals(compiledScala)) {
      return Optional.of(
          "aqe-plugin: this jar is for Scala " + compiledScala + " and this Spark " + spark + " runs on Scala " + scala
              + ". Use a Spark built with Scala " + compiledScala + ". " + STANDS_DOWN);
    }
    return Optional.empty();
  }

  private static final String STANDS_DOWN = "The plugin stands down; queries run as without it.";
}
