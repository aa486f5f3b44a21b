"""What the controller decides: pure functions from an image and a request to records and an answer.

`decide_x(image, request, ...) -> Decision(records, response)` changes nothing: the caller appends the records to the
log, replays them, and then sends the answer. `describe_x(image, ...)` only reads. Time, randomness, the node's own
configuration and the brokers' liveness are arguments. A batch fails per item; named maxima bound it.

Requests and answers are small frozen classes with the field names of Kafka's newest schemas; `reshape` turns kio's
classes of any version into them and back. May import `cluster.image`, `wire`, `rules` and kio's schema classes; no
I/O, no clock, no tasks. From org.apache.kafka.controller of Kafka 4.3.1: names, order of checks, codes and messages
follow it.
"""
