"""The records of Kafka's metadata log: declarations, frame, and the levels that gate them.

`types` and `control` are data, one class per record type for all its versions; `schema` is the codec; `serde` and
`control` turn single records into bytes and back. Batches are `doorkeeper.wire.records`. Nothing here does I/O.
"""
