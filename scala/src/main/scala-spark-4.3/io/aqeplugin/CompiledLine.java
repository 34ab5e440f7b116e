package io.aqeplugin;

/** The versions for which this jar was built. */
public final class CompiledLine {
  /** The Spark line. */
  public static final String SPARK = "4.3";

  /** The binary version of Scala. */
  public static final String SCALA = "2.13";

  private CompiledLine() {}
}
