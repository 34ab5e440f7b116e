"""Files generated from metrics and rules: dashboards, the table of metrics, a rule file for Kubernetes."""
