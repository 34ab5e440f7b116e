package org.apache.spark.ui.aqeplugin

import org.apache.spark.{SPARK_VERSION, SparkConf}
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.status.{AppHistoryServerPlugin, ElementTrackingStore}
import org.apache.spark.ui.SparkUI

import io.aqeplugin.tell.ui.{RuntimeFiltersTab, TabGuard}

/** The History Server finds this class through `META-INF/services`; its trait is private to Spark. */
final class AqeHistoryServerPlugin extends AppHistoryServerPlugin {

  override def createListeners(conf: SparkConf, store: ElementTrackingStore): Seq[SparkListener] =
    TabGuard.orElse(Seq.empty[SparkListener])(RuntimeFiltersTab.replayListener(SPARK_VERSION, conf, store).toSeq)

  override def setupUI(ui: SparkUI): Unit = TabGuard.orElse(())(RuntimeFiltersTab.attachWhereFilled(new TabHost(ui)))

  override def displayOrder: Int = RuntimeFiltersTab.DisplayOrder
}
