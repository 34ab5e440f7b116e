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
 * The class for {@code spark.plugins}; no other setting is needed.
 *
 * <p>Written in Java, like all code that runs before the jar is known to fit: classes compiled for another Scala cannot be linked.
 */
public final class AqePlugin implements SparkPlugin {
  private static final Logger LOG = LoggerFactory.getLogger("io.aqeplugin");

  @Override
  public DriverPlugin driverPlugin() {
    return driverPlugin(SparkLine.versionOfSpark(), SparkLine.versionOfScala());
  }

  /** Adds the tasks' counters to the executor's metrics; {@code null} where the jar does not fit. */
  @Override
  public ExecutorPlugin executorPlugin() {
    if (SparkLine.mismatch(SparkLine.versionOfSpark(), SparkLine.versionOfScala()).isPresent()) {
      return null;
    }
    try {
      return new AqeExecutorPlugin();
    } catch (LinkageError error) {
      LOG.warn("aqe-plugin: a class cannot be linked; executors have no metrics, but filters work.", error);
      return null;
    }
  }

  /**
   * Whether the end of a session closes the plugin's class loader: in a Thrift Server, Hive's {@code SessionState.close} closes those below the one
   * of the class path. Classes that are asked for afterwards are not found.
   */
  public static boolean isClosedWithASession(String command, ClassLoader loader) {
    return command.contains(".HiveThriftServer2") && loader != ClassLoader.getSystemClassLoader();
  }

  /** The driver plugin, or {@code null}, which means none, if the jar does not fit this Spark or this Scala. */
  DriverPlugin driverPlugin(String spark, String scala) {
    Optional<String> mismatch = SparkLine.mismatch(spark, scala);
    if (mismatch.isPresent()) {
      LOG.warn(mismatch.get());
      return null;
    }
    if (isClosedWithASession(System.getProperty("sun.java.command", ""), AqePlugin.class.getClassLoader())) {
      LOG.warn(
          "aqe-plugin: a Thrift Server closes the class loader of spark.jars when its first session ends, and queries would then fail. "
              + "The plugin is inactive; queries run as without it. Add the jar to spark.driver.extraClassPath (--driver-class-path) too.");
      return null;
    }
    try {
      return new AqeDriverPlugin();
    } catch (LinkageError error) {
      LOG.warn("aqe-plugin: a class cannot be linked. The plugin is inactive; queries run as without it.", error);
      return null;
    }
  }
}
