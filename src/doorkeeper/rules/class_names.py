"""Java classes that configs may name: which of them a broker can load.

Kafka loads a class when it reads its name. Which plugins lie on a broker's class path only that broker knows; Kafka's
own classes are taken from the defaults in the facts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from doorkeeper.rules.config_schema import BROKER, ConfigType, could_be_a_class, load_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Container

_CLASS_KEYS: Final = (".class", ".class.name", ".class.names", "metric.reporters")
KAFKA_CLASSES: Final = frozenset(
    key.default
    for key in load_schema(BROKER).values()
    if key.default and (key.type is ConfigType.CLASS or key.name.endswith(_CLASS_KEYS))
) | {"org.apache.kafka.common.security.ssl.DefaultSslEngineFactory"}
"""Classes of Kafka's own that configs name; the last is what `ssl.engine.factory.class` stands for when unset."""


def class_test(plugins: Container[str] | None) -> Callable[[str], bool]:
    """Whether a broker can load a class: Kafka's own and the plugins; with unknown plugins any lawful name passes."""
    if plugins is None:
        return could_be_a_class

    def exists(name: str) -> bool:
        return name in KAFKA_CLASSES or name in plugins

    return exists
