"""Event logs in the file systems that Hadoop opens: ``hdfs://``, ``s3a://`` and whatever else Spark's conf names.

Spark's own client lists and reads them, in a JVM that is started only for them. It copies new bytes of a log to a local
folder, piece by piece, where the reader of :mod:`aqe_plugin.logs` reads them.
"""

from aqe_plugin.logs.hadoop.files import HadoopFiles, opened_hadoop_files

__all__ = ["HadoopFiles", "opened_hadoop_files"]
