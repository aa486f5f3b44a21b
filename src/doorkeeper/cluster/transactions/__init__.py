"""The transaction coordinator: transactional ids, their producers and their transactions. Pure: no I/O, no clock.

`coordinator.TransactionCoordinator` is the entry; `messages` are its requests and responses, `step.Decision` is what
every request comes to: records of `__transaction_state` to append, markers to write into partitions, an answer.
`verification` is what the other brokers ask of it when a client produces or commits offsets. Behaviour and error codes
are those of Kafka 4.3.1's TransactionCoordinator at all transaction versions (KIP-98, 360, 890); two-phase commit is
refused. May import `rules`, `wire` and kio's schema; of `cluster` only what translates messages of groups.
"""
