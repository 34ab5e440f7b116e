"""Event logs in the file systems that Hadoop opens: ``hdfs://``, ``s3a://`` and whatever else Spark's conf names.

They are listed and read by Spark's own client, in a JVM of its own that is started only for them. New bytes of a log
lie in a folder here, piece by piece, while the reader of :mod:`aqe_plugin.logs` takes them from there.
"""

from aqe_plugin.logs.hadoop.conf import conf_of
from aqe_plugin.logs.hadoop.files import HadoopFiles
from aqe_plugin.logs.hadoop.logs import opened_hadoop_files

__all__ = ["HadoopFiles", "conf_of", "opened_hadoop_files"]
