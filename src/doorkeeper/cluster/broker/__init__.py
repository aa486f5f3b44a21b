"""The broker's side of the cluster: registering, heartbeats, following the metadata log, sending changes on.

All of it is Kafka's protocol over the controller's door, whether the controller is in this process or another. The one
short cut is Kafka's own: a broker that shares its node with the controller reads the controller's image directly.
"""
