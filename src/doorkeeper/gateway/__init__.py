"""The gateway: the same doors in front of a real Kafka cluster, which knows nothing of it.

    client ──> client_connection ──> passage (scans, judges, patches) ──> upstream_connection ──> Kafka

`passage` and all that it asks (`plans`, `requests`, `responses`, `judging`, `addresses`) are pure: bytes in, bytes out.
The two connections, `listeners`, `topology` and `process` are the asyncio shell around them.
"""
