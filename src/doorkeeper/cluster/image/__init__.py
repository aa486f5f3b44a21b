"""What the metadata log says, as values: immutable images, and deltas that make the next one.

Every `XImage` is frozen and has an `EMPTY`; an `XDelta(image)` takes records with `replay` and gives the next image
with `apply`; `to_records` of an image writes records that replay to an equal image. `replay` is the only writer:
nothing else in the tree changes metadata. Pure: no I/O, no clock, no tasks. From org.apache.kafka.image of Kafka 4.3.1.
"""
