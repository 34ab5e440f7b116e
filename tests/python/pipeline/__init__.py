"""The pipeline over event logs in one Spark session, which serves all modules of this package."""
