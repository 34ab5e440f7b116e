package io.aqeplugin.exec

import java.lang.reflect.Modifier

import org.apache.arrow.memory.RootAllocator
import org.apache.arrow.vector.IntervalMonthDayNanoVector
import org.apache.spark.aqeplugin.ThisSparkLine
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.types.CalendarInterval
import org.scalatest.funsuite.AnyFunSuite

import io.aqeplugin.e2e.PluginSession

/** Nested columns in a selection of rows: each row keeps its own values. */
class NestedPayloadSuite extends AnyFunSuite with PluginSession {

  private val payload =
    """CAST(id % 60 AS int) AS k, id,
      |IF(id % 9 = 0, NULL, named_struct('a', id, 'b', 'b' || id, 'c', named_struct('d', IF(id % 4 = 0, NULL, id * 2)))) AS nested,
      |IF(id % 8 = 0, NULL, sequence(id, id + id % 3)) AS numbers,
      |array(named_struct('x', id, 'y', array('y' || id))) AS structs,
      |map('key' || id, id, 'other', -id) AS pairs,
      |CAST(id AS decimal(38, 5)) AS wide, CAST('bin' || id AS binary) AS bytes,
      |CAST(id AS float) AS f, id % 2 = 0 AS flag, CAST(NULL AS string) AS nothing""".stripMargin

  for (format <- Seq("parquet", "orc")) {
    test(s"structs, arrays and maps in $format stay with their rows") {
      table(s"payload_$format", s"SELECT $payload, make_dt_interval(0, id) AS length FROM range(500)", format, files = 2)
      table(s"few_$format", "SELECT CAST(id * 7 AS int) AS dk FROM range(5)", format)
      for (threshold <- Seq("-1", "10m")) withConf("spark.sql.autoBroadcastJoinThreshold" -> threshold) {
        val all = sameRows(spark.sql(s"SELECT * FROM payload_$format JOIN few_$format ON k = dk"))
        assert(filtered(all).nonEmpty)
        // The classes for which Spark generates the code above the scan.
        assert(filters(all.plan).forall(filter => filter.vectorTypes == (if (format == "parquet") filter.child.vectorTypes else None)))
        assert(all.rows.size == 43)
        val parts = sameRows(
          spark.sql(s"SELECT nested.c.d, nested.b, pairs['other'], structs[0].y[0] FROM payload_$format JOIN few_$format ON k = dk")
        )
        assert(filtered(parts).nonEmpty)
      }
    }

    test(s"partition columns of $format tables keep their values across batches") {
      val path = folder.resolve(s"parted-$format").toString
      spark.sql("SELECT id, CAST(id % 60 AS int) AS k, id % 3 AS part FROM range(500)").write.partitionBy("part").format(format).save(path)
      spark.read.format(format).load(path).createOrReplaceTempView(s"parted_$format")
      table(s"few_parted_$format", "SELECT CAST(id * 7 AS int) AS dk, CAST(1 AS int) AS dp FROM range(5)", format)
      withConf("spark.sql.autoBroadcastJoinThreshold" -> "-1") {
        val byColumn = sameRows(spark.sql(s"SELECT * FROM parted_$format JOIN few_parted_$format ON k = dk"))
        assert(filtered(byColumn).nonEmpty)
        val byPartition = sameRows(spark.sql(s"SELECT * FROM parted_$format JOIN few_parted_$format ON part = dp"))
        assert(byPartition.rows.nonEmpty)
      }
    }
  }

  test("a selected vector reads the chosen rows of structs, intervals and children") {
    val struct = StructType(Seq(StructField("a", IntegerType), StructField("b", LongType)))
    val structs = new OnHeapColumnVector(6, struct)
    val intervals = new OnHeapColumnVector(6, CalendarIntervalType)
    for (i <- 0 until 6) {
      if (i == 4) structs.putNull(i) else structs.putNotNull(i)
      structs.getChild(0).putInt(i, i * 10)
      structs.getChild(1).putLong(i, i * 100L)
      intervals.putInterval(i, new CalendarInterval(i, i + 1, i + 2L))
    }
    val selection = Array(1, 4, 5, 0, 0, 0)
    val batch = new ColumnarBatch(Array(ThisSparkLine.selected(structs, selection), ThisSparkLine.selected(intervals, selection)), 3)

    assert(batch.column(0).getStruct(0).getInt(0) == 10)
    assert(batch.column(0).isNullAt(1))
    assert(batch.column(0).getStruct(2).getLong(1) == 500L)
    assert((0 until 3).map(batch.column(1).getInterval(_)) == Seq(1, 4, 5).map(i => new CalendarInterval(i, i + 1, i + 2L)))
    structs.close()
    intervals.close()
  }

  test("a selected vector implements every getter of every Spark line") {
    val selected = ThisSparkLine.selected(new OnHeapColumnVector(1, IntegerType), Array(0))
    // Getters of structs and variants are final and read through the children.
    val getters = classOf[ColumnVector].getMethods.toSeq.filter { method =>
      method.getName.startsWith("get") && method.getParameterTypes.sameElements(Seq(classOf[Int])) && !Modifier.isFinal(method.getModifiers)
    }
    assert(getters.map(_.getName).contains("getInterval"))
    val left = getters.filter { getter =>
      selected.getClass.getMethod(getter.getName, classOf[Int]).getDeclaringClass == classOf[ColumnVector]
    }
    assert(left.map(_.getName).isEmpty)
  }

  test("a selected vector reads calendar intervals of an Arrow vector without children") {
    val allocator = new RootAllocator()
    val months = new IntervalMonthDayNanoVector("length", allocator)
    for (i <- 0 until 6) if (i == 4) months.setNull(i) else months.setSafe(i, i, i + 1, (i + 2) * 1000L)
    months.setValueCount(6)
    val vector = new ArrowColumnVector(months)
    try {
      val selected = ThisSparkLine.selected(vector, Array(1, 4, 5))
      val shown = (0 until 3).map(row => Option(selected.getInterval(row)))
      assert(shown == Seq(Some(new CalendarInterval(1, 2, 3L)), None, Some(new CalendarInterval(5, 6, 7L))))
    } finally {
      vector.close()
      allocator.close()
    }
  }
}
