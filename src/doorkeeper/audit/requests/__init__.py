"""Kafka's request log as a source: lines, the identifiers and config changes in them, and the kernel that skips most.

`lines` understands one line, `identifiers` and `changes` say what is in a request, `kernel` decides which lines need
that at all, `reader` is what Spark's tasks run. Nothing here knows Spark.
"""
