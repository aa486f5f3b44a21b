"""Metering: how much clients use, what they may use, and how both are told. Pure: no I/O, and time is an argument.

May import `rules`, `wire`, `door` and `errors`. Statistics are Kafka's (org.apache.kafka.common.metrics), so that a
quota bites here at the moment and for the time at which it would there. All of it belongs to one thread.
"""
