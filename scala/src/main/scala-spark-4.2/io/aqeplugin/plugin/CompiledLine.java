package io.aqeplugin.plugin;

/** What this jar was built for. */
final class CompiledLine {
  /** The Spark line. */
  static final String SPARK = "4.2";

  /** The binary version of Scala. */
  static final String SCALA = "2.13";

  private CompiledLine() {}
}
