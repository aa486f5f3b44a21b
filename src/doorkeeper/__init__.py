"""Doorkeeper: one rulebook for what Apache Kafka lets in, and the doors that enforce it."""

__version__ = "0.1.0"
