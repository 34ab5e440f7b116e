"""Files that hold a Spark conf, each read and changed behind one port, :class:`~aqe_plugin.targets.port.TargetConf`.

``properties`` is ``spark-defaults.conf``; ``manifest`` and ``configmap`` are Kubernetes files; ``locate`` picks one.
Whatever is changed is cut out of and put into the file's own text, so every other byte stays.
"""
