package io.aqeplugin;

import java.util.Optional;

import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.SparkPlugin;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import io.aqeplugin.plugin.AqeDriverPlugin;
import io.aqeplugin.plugin.AqeExecutorPlugin;

/**
 * The plugin as {@code spark.plugins} names it. Nothing else has to be configured.
 *
 * <p>In Java, like all that runs before it is known that the jar fits: classes compiled for another Scala cannot be linked.
 */
public final class AqePlugin implements SparkPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("io.aqeplugin");

  @Override
  public DriverPlugin driverPlugin() {
    return driverPlugin(SparkLine.versionOfSpark(), SparkLine.versionOfScala());
  }

  /** Counts what tasks do, in the executor's metrics; none where the jar does not fit. */
  @Override
  public ExecutorPlugin executorPlugin() {
    if (SparkLine.mismatch(SparkLine.versionOfSpark(), SparkLine.versionOfScala()).isPresent()) {
      return null;
    }
    try {
      return new AqeExecutorPlugin();
    } catch (LinkageError error) {
      LOG.warn("aqe-plugin: a class cannot be linked; executors count nothing, filters work.", error);
      return null;
    }
  }

  /** The driver's half, or {@code null}, which Spark takes for none, where the jar fits neither this Spark nor this Scala. */
  DriverPlugin driverPlugin(String spark, String scala) {
    Optional<String> mismatch = SparkLine.mismatch(spark, scala);
    if (mismatch.isPresent()) {
      LOG.warn(mismatch.get());
      return null;
    }
    try {
      return new AqeDriverPlugin();
    } catch (LinkageError error) {
      LOG.warn("aqe-plugin: a class cannot be linked; the plugin stands down, queries run as without it.", error);
      return null;
    }
  }
}
