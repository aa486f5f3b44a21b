"""The group coordinator: consumer groups of both protocols, and their offsets. Pure: no I/O, no clock, no randomness.

`coordinator.GroupCoordinator` is the entry; `messages` are its requests and responses, `translation` turns kio's
classes into them and back, `step.Decision` is what every request comes to. Behaviour and error codes are those of Kafka
4.3.1's group coordinator, but for member ids: the ones we make are plain UUIDs, 36 characters long. Share and streams
groups are not served. May import `rules`, `wire` and kio's schema; nothing else of `cluster`.
"""
