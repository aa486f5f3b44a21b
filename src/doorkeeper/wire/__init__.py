"""Bytes to messages and back: Kafka's protocol without any I/O.

May import `doorkeeper.rules`, `doorkeeper.errors` and kio; never asyncio, sockets, files or a clock. Whatever bytes a
peer sends, the functions here return a value or raise `RemoteProtocolError`, never another exception; what *we* ask
for and the protocol can't say raises `LocalProtocolError`. kio's encoders and decoders stay behind `codec`.
"""
