"""How the client connects: Kafka's own client properties, as `--command-config` files have them.

What is understood: time-outs, back-off, the client id, PLAINTEXT, SSL with PEM stores, SASL PLAIN and SCRAM. A security
setting that is not understood is refused by name: connecting with less than was asked for would be worse.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.errors import InputError
from doorkeeper.rules.javatext import parse_int, trim
from doorkeeper.wire.jaas import LOGIN_MODULES, JaasError, read_login_module

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MILLISECONDS: Final = 0.001
SASL_MECHANISMS: Final = tuple(LOGIN_MODULES)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_REFUSED_PREFIXES: Final = ("ssl.", "sasl.", "security.")
_HARMLESS: Final = frozenset({"sasl.kerberos.service.name", "ssl.protocol", "ssl.provider", "security.providers"})


@dataclass(frozen=True, slots=True)
class SaslCredentials:
    """Who we are; the password never shows."""

    mechanism: str
    username: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Everything about the connection but the addresses. Times are in seconds."""

    client_id: str | None = None
    connect_timeout: float = 10.0
    """How long a connection may take to be made (`socket.connection.setup.timeout.ms`)."""
    request_timeout: float = 30.0
    """How long one attempt may take (`request.timeout.ms`)."""
    api_timeout: float = 60.0
    """How long a call may take with all its attempts (`default.api.timeout.ms`)."""
    retries: int = 2147483647
    retry_backoff: float = 0.1
    retry_backoff_max: float = 1.0
    sasl: SaslCredentials | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    unused: tuple[str, ...] = ()
    """Properties that mean nothing here."""


def read_settings(properties: Mapping[str, str]) -> ClientSettings:
    """Settings from client properties; the addresses among them are left to the caller.

    :raises InputError: naming the setting that is wrong or not supported.
    """
    reader = _Reader(properties)
    reader.take("bootstrap.servers")
    reader.take("bootstrap.controllers")
    protocol = (reader.take("security.protocol") or "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise InputError(f"security.protocol: '{protocol}' is none of {', '.join(_PROTOCOLS)}")
    sasl = _read_sasl(reader) if protocol.startswith("SASL_") else None
    tls = _read_tls(reader) if protocol.endswith("SSL") else None
    client_id = reader.take("client.id")
    return ClientSettings(
        client_id=client_id or None,
        connect_timeout=reader.milliseconds("socket.connection.setup.timeout.ms", 10000),
        request_timeout=reader.milliseconds("request.timeout.ms", 30000),
        api_timeout=reader.milliseconds("default.api.timeout.ms", 60000),
        retries=reader.number("retries", 2147483647),
        retry_backoff=reader.milliseconds("retry.backoff.ms", 100),
        retry_backoff_max=reader.milliseconds("retry.backoff.max.ms", 1000),
        sasl=sasl,
        tls=tls,
        unused=reader.unused(protocol),
    )


class _Reader:
    """Hands out properties and remembers which nobody asked for."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = properties
        self._taken: set[str] = set()

    def take(self, name: str) -> str | None:
        self._taken.add(name)
        return self._properties.get(name)

    def number(self, name: str, default: int) -> int:
        text = self.take(name)
        if text is None:
            return default
        number = parse_int(trim(text))
        if number is None or number < 0:
            raise InputError(f"{name}: '{text}' is no number of 0 or more")
        return number

    def milliseconds(self, name: str, default: int) -> float:
        return self.number(name, default) * MILLISECONDS

    def unused(self, protocol: str) -> tuple[str, ...]:
        left = sorted(set(self._properties) - self._taken)
        for name in left:
            matters = name.startswith("ssl.") and protocol.endswith("SSL")
            matters = matters or (name.startswith("sasl.") and protocol.startswith("SASL_"))
            if matters and name not in _HARMLESS:
                raise InputError(f"{name} is not supported with security.protocol {protocol}")
        return tuple(left)


def _read_sasl(reader: _Reader) -> SaslCredentials:
    mechanism = reader.take("sasl.mechanism") or "GSSAPI"
    if mechanism not in SASL_MECHANISMS:
        raise InputError(f"sasl.mechanism: '{mechanism}' is not supported, only {', '.join(SASL_MECHANISMS)}")
    jaas = reader.take("sasl.jaas.config")
    if jaas is None:
        raise InputError("sasl.jaas.config is missing")
    try:
        module = read_login_module(jaas)
    except JaasError as error:
        raise InputError(f"sasl.jaas.config: {error}") from None
    if module.name != LOGIN_MODULES[mechanism]:
        raise InputError(f"sasl.jaas.config: {mechanism} needs the login module {LOGIN_MODULES[mechanism]}")
    options = module.options
    for name in ("username", "password"):
        if name not in options:
            raise InputError(f"sasl.jaas.config has no {name}")
    if options.get("tokenauth") == "true":
        raise InputError("sasl.jaas.config: delegation tokens (tokenauth) are not supported")
    return SaslCredentials(mechanism, options["username"], options["password"])


def _read_tls(reader: _Reader) -> ssl.SSLContext:
    context = ssl.create_default_context()
    algorithm = reader.take("ssl.endpoint.identification.algorithm")
    context.check_hostname = algorithm is None or algorithm != ""
    _require_pem(reader, "ssl.truststore.type", "ssl.truststore.location")
    _require_pem(reader, "ssl.keystore.type", "ssl.keystore.location")
    for name in ("ssl.truststore.password", "ssl.keystore.password"):
        reader.take(name)
    authorities, location = reader.take("ssl.truststore.certificates"), reader.take("ssl.truststore.location")
    password = reader.take("ssl.key.password")
    keystore = reader.take("ssl.keystore.location")
    try:
        if authorities is not None or location is not None:
            context = _trusting(context.check_hostname, location, authorities)
        if keystore is not None:
            context.load_cert_chain(keystore, password=password)
    except (OSError, ValueError) as error:
        raise InputError(f"ssl.truststore / ssl.keystore can't be used as PEM: {error}") from error
    return context


def _trusting(check_hostname: bool, location: str | None, authorities: str | None) -> ssl.SSLContext:
    """A context that trusts the given authorities and not the system's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_hostname
    context.load_verify_locations(cafile=location, cadata=authorities)
    return context


def _require_pem(reader: _Reader, kind: str, location: str) -> None:
    """Java's own store formats can't be read here; `keytool` or `openssl` turns them into PEM."""
    stated = reader.take(kind)
    if reader.take(location) is None and stated is None:
        return
    if (stated or "JKS").upper() != "PEM":
        raise InputError(f"{kind}: only PEM is supported, not {stated or 'JKS (the default)'}")


def load_settings(path: Path) -> tuple[ClientSettings, dict[str, str]]:
    """Settings and the raw properties of a `--command-config` file.

    :raises InputError: naming the file.
    """
    from doorkeeper.rules.properties import PropertiesError, decode_properties

    try:
        properties: dict[str, Any] = {entry.key: entry.value for entry in decode_properties(path.read_bytes())}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except PropertiesError as error:
        raise InputError(f"{path}: {error}") from error
    return read_settings(properties), properties
