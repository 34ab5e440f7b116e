"""What is generated from the metrics and rules: dashboards, the table of metrics, a rule file for Kubernetes."""
