"""Our brokers and controller: images of the metadata, the log that makes them, and the roles that serve them."""
