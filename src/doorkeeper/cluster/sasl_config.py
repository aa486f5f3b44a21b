"""SASL at a listener, from Kafka's configs: its mechanisms, and the users of PLAIN. From JaasContext.

Kafka wants a login module for each mechanism (`listener.name.<listener>.<mechanism>.sasl.jaas.config`); PLAIN's holds
the users (`user_<name>="<password>"`), SCRAM's are in the metadata log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from doorkeeper.rules.javatext import parse_int
from doorkeeper.rules.listener_checks import MECHANISMS
from doorkeeper.rules.static_config import LISTENER_PREFIX, UnlawfulError, View
from doorkeeper.wire.jaas import LOGIN_MODULES, JaasError, LoginModule, read_login_module
from doorkeeper.wire.sasl_login import PLAIN

SASL_PLAINTEXT: Final = "SASL_PLAINTEXT"
JAAS: Final = "sasl.jaas.config"
LISTENER_READS: Final = frozenset((MECHANISMS,))
"""What a view must be open for, per listener."""
USER_PREFIX: Final = "user_"
_REAUTHENTICATION: Final = "connections.max.reauth.ms"
_CALLBACK_HANDLER: Final = "sasl.server.callback.handler.class"


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """SASL at one listener; passwords do not show."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(repr=False)


def read_sasl_config(view: View, listener: str) -> SaslConfig:
    """The SASL configs in force at a listener.

    :raises UnlawfulError: for what Kafka does not start with, and for mechanisms that are not served here.
    """
    enabled = view.listener_value(listener, MECHANISMS)
    mechanisms = tuple(dict.fromkeys(enabled)) if isinstance(enabled, list) else ()
    if not mechanisms:
        raise UnlawfulError("No SASL mechanisms are enabled")
    modules = {mechanism: _login_module(view, listener, mechanism) for mechanism in mechanisms}
    options = modules[PLAIN].options if PLAIN in modules else {}
    users = {
        name.removeprefix(USER_PREFIX): password for name, password in options.items() if name.startswith(USER_PREFIX)
    }
    return SaslConfig(mechanisms, MappingProxyType(users))


def _login_module(view: View, listener: str, mechanism: str) -> LoginModule:
    wanted = LOGIN_MODULES.get(mechanism)
    if wanted is None:
        served = ", ".join(LOGIN_MODULES)
        raise UnlawfulError(f"Listener {listener} enables the mechanism {mechanism}, and only {served} are served here")
    key = f"{LISTENER_PREFIX}{listener.lower()}.{mechanism.lower()}.{JAAS}"
    text = view.prefixed.get(key) or view.static.text(key)
    if text is None:
        raise UnlawfulError(f"{key} is missing: it names the login module {wanted}")
    try:
        module = read_login_module(text)
    except JaasError as error:
        raise UnlawfulError(f"{key}: {error}") from None
    if module.name != wanted:
        raise UnlawfulError(f"{key}: {mechanism} needs the login module {wanted}")
    return module


def sasl_not_served(static: Mapping[str, str]) -> Iterator[str]:
    """Faults: what Kafka does with SASL and this cluster does not, where a key asks for it at any listener."""
    for key, text in static.items():
        if _is_or_ends_in(key, _REAUTHENTICATION) and (parse_int(text) or 0) > 0:
            yield f"{key} asks clients to log in again, which is not served here"
        elif _is_or_ends_in(key, _CALLBACK_HANDLER):
            yield f"{key} names a Java class, and there is no Java here"


def _is_or_ends_in(key: str, name: str) -> bool:
    return key == name or key.endswith(f".{name}")
