// One source tree, one sbt project and one jar per Spark line; the lines themselves are in project/SparkLines.scala.

import scala.sys.process.Process

ThisBuild / organization := "io.aqeplugin"
ThisBuild / version := IO.read((ThisBuild / baseDirectory).value / "aqe_plugin" / "VERSION").trim
ThisBuild / licenses := Seq(License.Apache2)

// A formatter run rewrites this file; what is already loaded stays good for the rest of the call.
Global / onChangedBuildSource := IgnoreSourceChanges

// Two groups of suites use the cores that one leaves idle.
Global / concurrentRestrictions := Seq(Tags.limit(Tags.ForkedTestGroup, 2), Tags.exclusiveGroup(Tags.Clean))

// The stub SparkContext and RDD classes of this module shadow the real ones on a flat class path.
val connectShims = ExclusionRule("org.apache.spark", "spark-connect-shims_2.13")

// The smoke tests alone: lines beside the primary one compile no other test in `make test`.
val Smoke = config("smoke").extend(Test)
val smokeSources = Seq(
  "e2e/SmokeSuite",
  "e2e/PluginSession",
  "e2e/NeedsSession",
  "e2e/LocalFiles",
  "exec/AdaptiveSearchesSuite",
  "observe/KnownExpressionsSuite"
)

// What only `make neighbours` starts, and no test of this build needs on its class path.
val Neighbour = config("neighbour").hide

/** Real tables of other formats and another engine, for the tests and the benchmarks of the primary line. */
def neighbours(line: SparkLine): Seq[ModuleID] =
  if (line != SparkLines.Primary) Nil
  else
    Seq(
      "io.delta" % s"delta-spark_${line.line}_${line.scalaBinary}" % "4.4.0" % Test,
      "org.apache.iceberg" % s"iceberg-spark-runtime-${line.line}_${line.scalaBinary}" % "1.12.0" % Test,
      "org.apache.datafusion" % s"comet-spark-spark${line.line}_${line.scalaBinary}" % "1.2.0" % Test,
      "io.openlineage" % s"openlineage-spark_${line.scalaBinary}" % "1.53.0" % Neighbour
    )

/** Spark itself. */
def sparkOf(line: SparkLine): Seq[Setting[_]] =
  if (line.isOnMaven)
    Seq(
      libraryDependencies += "org.apache.spark" %% "spark-sql" % line.sparkVersion % Provided,
      libraryDependencies ++= Seq("sql", "catalyst", "core", "common-utils", "sql-api").map { module =>
        "org.apache.spark" %% s"spark-$module" % line.sparkVersion % Test classifier "tests"
      }
    )
  else
    Seq(
      Compile / unmanagedJars := {
        val folder = Process(Seq("project/pyspark-package", line.sparkVersion), (ThisBuild / baseDirectory).value).!!.trim
        (file(folder) / "deps" / "jars" * "*.jar").classpath
      },
      Test / unmanagedJars := (Compile / unmanagedJars).value
    )

def sparkProject(line: SparkLine): Project =
  Project(line.id, file(s"scala/target-${line.line}"))
    .enablePlugins(JmhPlugin)
    .configs(Smoke, Neighbour)
    .settings(inConfig(Smoke)(Defaults.testSettings): _*)
    .settings(
      Smoke / unmanagedSourceDirectories := Nil,
      Smoke / unmanagedSources :=
        smokeSources.map(path => (ThisBuild / baseDirectory).value / "scala/src/test/scala/io/aqeplugin" / s"$path.scala"),
      Smoke / dependencyClasspath := (Compile / exportedProducts).value ++ (Test / externalDependencyClasspath).value,
      Smoke / fork := true,
      Smoke / baseDirectory := (ThisBuild / baseDirectory).value,
      Smoke / javaOptions := (Test / javaOptions).value,
      Smoke / testOptions := (Test / testOptions).value,
      name := s"aqe-plugin-spark-${line.line}",
      moduleName := s"aqe-plugin-spark-${line.line}",
      scalaVersion := line.scalaVersion,
      target := (ThisBuild / baseDirectory).value / "scala" / "target" / line.line,
      javacOptions ++= Seq("--release", line.javaTarget),
      scalacOptions ++= Seq(
        s"-release:${line.javaTarget}",
        "-encoding",
        "utf8",
        "-deprecation",
        "-feature",
        "-unchecked",
        "-Xlint:_,-missing-interpolator,-byname-implicit",
        "-Wunused:imports,privates,locals,implicits,patvars",
        "-Wvalue-discard",
        "-Wdead-code",
        "-Werror"
      ),
      Compile / doc / scalacOptions -= "-Werror",
      description := s"Runtime join filters and measured join choices for Apache Spark ${line.line}'s adaptive query execution",
      publishMavenStyle := true,
      publishTo := Some(Resolver.file("dist", (ThisBuild / baseDirectory).value / "dist" / "maven")),
      pomPostProcess := PublishedPom.withWhatSparkProvides,
      // A release is made anew as often as somebody likes, until it is published elsewhere.
      publishConfiguration := publishConfiguration.value.withOverwrite(true),
      excludeDependencies += connectShims,
      libraryDependencies ++= Seq(
        "org.scalatest" %% "scalatest" % "3.2.19" % Test,
        "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
      ),
      sparkOf(line),
      libraryDependencies ++= neighbours(line),
      Seq(Compile -> "main", Test -> "test").flatMap { case (config, folder) =>
        val root = Def.setting((ThisBuild / baseDirectory).value / "scala" / "src" / folder)
        Seq(
          config / unmanagedSourceDirectories := Seq(root.value / "scala", root.value / s"scala-spark-${line.line}", root.value / "java"),
          config / unmanagedResourceDirectories := Seq(root.value / "resources"),
          // What the lines share is formatted once, as the primary line's.
          config / scalafmt / unmanagedSources := {
            if (line == SparkLines.Primary) (config / unmanagedSources).value
            else (root.value / s"scala-spark-${line.line}" ** "*.scala").get()
          }
        )
      },
      // A folder of their own: the plugin's default is the one that the jar is made of.
      Jmh / classDirectory := crossTarget.value / "jmh-classes",
      Jmh / dependencyClasspath := (Compile / fullClasspath).value,
      // What `run` takes. The plugin's default is the tests', without what Spark provides.
      Jmh / fullClasspathAsJars := (Jmh / fullClasspath).value,
      // The tests compile for a quick start, which is not what is measured.
      Jmh / javaOptions := Seq("-Xmx3g"),
      Jmh / unmanagedSourceDirectories := Seq((ThisBuild / baseDirectory).value / "scala" / "src" / "jmh" / "scala"),
      Compile / carriedJar := {
        val jar = jarsFolder.value / s"aqe-plugin-spark-${line.line}-${version.value}.jar"
        IO.copyFile((Compile / packageBin).value, jar)
        streams.value.log.info(s"$jar, ${jar.length / 1024} KiB")
        jar
      },
      Test / fork := true,
      Test / baseDirectory := (ThisBuild / baseDirectory).value,
      Test / parallelExecution := false,
      // Suites of the line's own folder, which are those of table formats, in a process of their own.
      Test / testGrouping := {
        val options = (Test / forkOptions).value
        val ofLine = (Test / unmanagedSources).value.filter(_.getPath.contains(s"scala-spark-${line.line}")).map(_.base).toSet
        (Test / definedTests).value.groupBy(suite => ofLine(suite.name.split('.').last)).map { case (isOfLine, suites) =>
          Tests.Group(if (isOfLine) "table formats" else "Spark", suites, Tests.SubProcess(options))
        }.toSeq
      },
      Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDF"),
      Test / testOptions ++= sampleSeed,
      Test / javaOptions ++= sparkJavaOptions,
      neighbourJars := {
        val folder = (ThisBuild / baseDirectory).value / ".build" / "neighbours"
        val ofThem = neighbours(line).map(module => moduleFilter(organization = module.organization))
        IO.delete(folder)
        val jars =
          update.value.select(configurationFilter(Test.name | Neighbour.name), ofThem.reduce(_ | _), artifactFilter(`type` = "jar"))
        jars.map(jar => (jar, folder / jar.getName)).foreach { case (jar, copy) => IO.copyFile(jar, copy) }
        jars.map(jar => folder / jar.getName)
      },
      testArguments := {
        val file = (ThisBuild / baseDirectory).value / ".build" / s"${line.id}-tests.args"
        val classPath = (Test / fullClasspath).value.files.mkString(java.io.File.pathSeparator)
        // In an argument file of java a backslash within quotes escapes.
        IO.writeLines(file, (Test / javaOptions).value ++ Seq("-cp", "\"" + classPath.replace("\\", "\\\\") + "\""))
        file
      }
    )

val jarsFolder = Def.setting((ThisBuild / baseDirectory).value / "aqe_plugin" / "jars")

/** A sample is the same in each run, so that a property fails at the change that breaks it; new inputs are for `make test-all` to find. */
val sampleSeed: Seq[TestOption] =
  if (sys.env.get("AQE_PLUGIN_TESTS").contains("all")) Nil else Seq(Tests.Argument(TestFrameworks.ScalaTest, "-S", "20261125"))

val neighbourJars = taskKey[Seq[File]]("Copies the jars of table formats and of other engines into .build/neighbours")

val testArguments =
  taskKey[File]("Compiles the tests and writes java's arguments for them, options and class path, into .build/<project>-tests.args")

// The module openings are Spark's own list (org.apache.spark.launcher.JavaModuleOptions).
val sparkJavaOptions = Seq(
  "-Xmx3g",
  "-Xss4m",
  // Small queries, each of other generated code: the second compiler never earns what it costs.
  "-XX:TieredStopAtLevel=1",
  // With one compiler the code cache has 48 MB: DeltaKeysSuite took 210 s of processor time, and 157 s where nothing had to be compiled again.
  "-XX:ReservedCodeCacheSize=512m",
  // 154 s of processor time for JoinMatrixSuite, against 181 s with the serial collector.
  "-XX:+UseParallelGC",
  "-Dspark.ui.enabled=false",
  "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true"
) ++
  Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar"
  ).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") :+ "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED"

/** One project per Spark line: `spark41`, `spark40`, ... */
lazy val lines: CompositeProject = new CompositeProject {
  override def componentProjects: Seq[Project] = SparkLines.All.map(sparkProject)
}

def projects(lines: Seq[SparkLine]): Seq[ProjectReference] = lines.map(line => LocalProject(line.id))
def of(lines: Seq[SparkLine]): ScopeFilter = ScopeFilter(inProjects(projects(lines): _*), inConfigurations(Compile))

val jars = taskKey[Seq[File]]("Packages every Spark line and puts the jars where the Python wheel carries them")
val primaryJar = taskKey[Seq[File]]("Packages the primary Spark line alone and puts its jar where the Python wheel carries it")
val carriedJar = taskKey[File]("Packages one Spark line and puts its jar where the Python wheel carries it")

// The tests that need no Spark session; the tag is that of the trait NeedsSession.
addCommandAlias("units", "spark41/testOnly -- -l NeedsSession")

// What `make lint` asks of the Scala half; `format` is the same with the answer written into the files.
addCommandAlias("lint", "scalafmtCheckAll; scalafmtSbtCheck; spark41/Compile/scalafix --check; spark41/Test/scalafix --check")
addCommandAlias("format", "scalafmtAll; scalafmtSbt; spark41/Compile/scalafix; spark41/Test/scalafix")

// The lines beside the primary one: compiled, and each asked in a session whether the plugin works at all.
addCommandAlias("smoke", SparkLines.Others.map(line => s"${line.id}/Smoke/test").mkString("; "))

// Jar, sources, documentation and pom of every line, into the Maven repository dist/maven.
addCommandAlias("dist", SparkLines.All.map(line => s"${line.id}/publish").mkString("; "))

// The same lines, tested in full.
addCommandAlias("otherLines", SparkLines.Others.map(line => s"${line.id}/test").mkString("; "))

lazy val root = (project in file("."))
  .aggregate(projects(SparkLines.All): _*)
  .settings(
    name := "aqe-plugin",
    jars := {
      val carried = carriedJar.all(of(SparkLines.All)).value
      // Jars of earlier versions and of lines that are no longer built.
      IO.delete((jarsFolder.value * "*.jar").get().filterNot(carried.contains))
      carried
    },
    primaryJar := carriedJar.all(of(Seq(SparkLines.Primary))).value,
    jars / aggregate := false,
    primaryJar / aggregate := false,
    publish / skip := true,
    Compile / unmanagedSourceDirectories := Nil,
    Test / unmanagedSourceDirectories := Nil
  )
