"""Where a Spark conf is kept: ``file_store`` and ``kubernetes_store``; ``locate`` picks one.

Each keeps the contract of :class:`~aqe_plugin.conf.target.ConfStore`.
"""
