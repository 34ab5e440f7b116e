"""What is generated from the exporter's metrics: Grafana's dashboards and the table of metrics in the documentation."""
