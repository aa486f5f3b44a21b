"""Groups of the consumer protocol (KIP-848): the coordinator assigns, members reconcile.

`member` and `group` are the state; `records` writes it down and `replay` brings it back. `heartbeat` decides: a change
of subscription or of topics raises the group epoch, `target` computes the assignment of that epoch, `reconcile` moves
one member towards it. `regexes` resolves subscriptions by pattern, `fencing` removes members, `classic_members` serves
those that still speak the classic protocol. Deciding changes no durable state: only replay does. Behaviour, order of
checks and codes are those of GroupMetadataManager and the classes under `modern/` in Kafka 4.3.1.
"""
