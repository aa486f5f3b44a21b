"""The audit: who would be refused, read from what a cluster has already seen and stored.

Stages: sightings (one row per identifier or config change seen), judged (the rulebook), findings (grouped). May import
`rules`, `wire`, `door` and Spark; `report`, `summary` and the readers' decoding know nothing of Spark.
"""
