"""The door: every identifier of a request is judged before anybody handles it, and a refusal is shaped for its API.

Pure, and shared by the embedded cluster and the gateway. `judge` asks the rulebook, `in_place` does so on the bytes,
`refusal` makes the answer from the table in `shapes`, `verdicts` writes down who was refused or would have been.
"""
