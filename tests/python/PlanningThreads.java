import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

/** Plans and runs a query in threads with other class loaders than the main thread's, in each mode, and prints what came out. */
public final class PlanningThreads {
  private static SparkSession spark;
  private static int made;

  public static void main(String[] arguments) throws Exception {
    spark = SparkSession.builder().getOrCreate();
    spark.range(20000).selectExpr("id", "id % 1000 AS k", "concat('k', id % 1000) AS s", "id % 50 = 7 AS b", "id % 10 / 2D AS d")
        .write().parquet(arguments[0] + "/facts");
    spark.range(2000).selectExpr("id AS n", "id AS k", "concat('k', id) AS s", "id % 50 = 7 AS b", "id % 10 / 2D AS d")
        .write().parquet(arguments[0] + "/dims");
    spark.read().parquet(arguments[0] + "/facts").createOrReplaceTempView("facts");
    spark.read().parquet(arguments[0] + "/dims").createOrReplaceTempView("dims");
    for (String mode : List.of("apply", "observe", "off")) {
      spark.conf().set("spark.aqePlugin.mode", mode);
      say(mode, "fork-join pool", () -> new ForkJoinPool(2).submit(PlanningThreads::query).get());
      say(mode, "parallel stream", () -> IntStream.range(0, 4).parallel().mapToObj(i -> query()).reduce((one, other) -> one.equals(other) ? one : "differs").get());
      say(mode, "system loader", inThread(ClassLoader.getSystemClassLoader()));
      say(mode, "no loader", inThread(null));
      say(mode, "main", PlanningThreads::query);
    }
    spark.stop();
  }

  private static Callable<String> inThread(ClassLoader loader) {
    return () -> {
      FutureTask<String> task = new FutureTask<>(PlanningThreads::query);
      Thread thread = new Thread(task);
      thread.setContextClassLoader(loader);
      thread.start();
      return task.get();
    };
  }

  /** Each call is another query, so that Spark compiles its code anew. */
  private static String query() {
    int other;
    synchronized (PlanningThreads.class) {
      other = 100 + made++;
    }
    List<Row> rows = spark.sql(
        "SELECT count(f.id + " + other + "), count(DISTINCT f.s) FROM facts f JOIN dims d ON f.k = d.k AND f.s = d.s AND f.b = d.b AND f.d = d.d "
            + "JOIN (SELECT n FROM dims WHERE n + " + other + " < " + (other + 100) + ") e ON f.k = e.n")
        .collectAsList();
    return rows.get(0).toString();
  }

  private static void say(String mode, String thread, Callable<String> query) {
    String answer;
    try {
      answer = query.call();
    } catch (ExecutionException error) {
      answer = String.valueOf(error.getCause());
    } catch (Exception error) {
      answer = String.valueOf(error);
    }
    System.out.println(mode + ", " + thread + ": " + answer.lines().findFirst().orElse(""));
  }
}
