"""Where a Spark conf is kept: ``file_store``, ``kubernetes_store`` and ``session_store``; ``locate`` picks one.

Each keeps the contract of :class:`~aqe_plugin.conf.target.ConfStore`.
"""
