"""One API, one file: each declares its key, versions and doors, and answers at a broker's door, a controller's or both.

A handler is thin: it turns a request into a question to the image or to a decision of the controller, and the outcome
into the answer of the version asked. `SERVED` says what is served; `at_broker(broker, call)` and
`at_controller(controller, call)` answer, at once or as an awaitable. ApiVersions is computed from these declarations.

Decisions that a start does not need are imported when they are first asked for: building their classes costs more than
all else at a node's start.
"""
