"""Places that hold a Spark conf, read and changed behind one port, :mod:`~aqe_plugin.conf.stores.port`.

``properties`` is ``spark-defaults.conf``; ``manifest`` and ``configmap`` are Kubernetes files; ``live`` is an object on
a Kubernetes API server; ``session_store`` is a running session; ``locate`` picks one.
Whatever is changed is cut out of and put into the file's own text, so every other byte stays.
"""
