"""Groups of the classic protocol: members join, a leader assigns, all sync.

`group` is the state, `rebalance` moves it between its phases, `join`, `sync` and `membership` answer requests. Members
wait for answers in memory only; what a restart must not lose is one GroupMetadata record per generation. Behaviour,
order of checks and codes are those of GroupMetadataManager and ClassicGroup in Kafka 4.3.1.
"""
