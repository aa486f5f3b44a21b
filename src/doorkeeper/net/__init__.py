"""The asyncio shell around `wire`: sockets, deadlines, back-pressure, draining.

May import `doorkeeper.metering`, `doorkeeper.wire`, `doorkeeper.rules` and `doorkeeper.errors`. Owns the clock;
decides nothing about messages. Every buffer, wait and number of connections has a limit in `Limits`.
"""
