"""The rulebook: the whole law of the three proposals as pure functions over frozen data.

Lives here: identifier limits (`names`), client ids as names and paths (`client_id`), config changes
(`config_change` and the `*_config` modules it asks), the field map (`fields`), and the facts about Kafka's
keys that they stand on (`facts`, data read out of Kafka's own jars).

May be imported: the standard library, nothing else. No clock, no network, no environment, no files but the
package's own facts.

Promised: `check_*` functions judge and return (a `Violation` or None); they never raise on what they judge,
hold no state, and may be called from any thread or process.
"""
