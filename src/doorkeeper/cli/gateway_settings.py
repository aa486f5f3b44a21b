"""The settings of `doorkeeper gateway`: a YAML file, options over it, and client properties for the way upstream."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorkeeper.cli.properties_file import load_properties
from doorkeeper.errors import InputError
from doorkeeper.gateway.settings import GatewaySettings, Login, UpstreamSecurity, settings_of


@dataclass(slots=True)
class SettingsSource:
    """Where the settings come from; `load` may be called again."""

    file: Path | None
    upstream_config: Path | None
    workers: int | None
    options: Mapping[str, Any]
    """As click names them; None and () for those that were not given."""

    def load(self) -> GatewaySettings:
        """Read everything.

        :raises InputError: naming what is wrong.
        """
        document = {} if self.file is None else _load_yaml(self.file)
        document |= {name.replace("_", "-"): value for name, value in self.options.items() if value not in (None, ())}
        workers = document.pop("workers", None)
        if self.workers is None and workers is not None:
            if not isinstance(workers, int) or workers < 1:
                raise InputError(f"workers: {workers!r} is no number above 0")
            self.workers = workers
        upstream_config = document.pop("upstream-config", None)
        security = _load_security(self.upstream_config or (None if upstream_config is None else Path(upstream_config)))
        return settings_of(document, security)

    def words(self) -> list[str]:
        """The options as a command line."""
        words: list[str] = [] if self.file is None else ["--config", str(self.file)]
        if self.upstream_config is not None:
            words += ["--upstream-config", str(self.upstream_config)]
        for name, value in self.options.items():
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, bool):
                words.append(option if value else f"--no-{option[2:]}")
            elif isinstance(value, tuple):
                words += [word for one in value for word in (option, one)]
            elif value is not None:
                words += [option, str(value)]
        return words


def _load_yaml(file: Path) -> dict[str, Any]:
    import yaml  # late: most of the time there is no file

    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file}: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"{file}: names and values are expected")
    return document


def _load_security(file: Path | None) -> UpstreamSecurity:
    if file is None:
        return UpstreamSecurity()
    from doorkeeper.client.sasl import exchange
    from doorkeeper.client.settings import read_settings

    settings = read_settings(load_properties(file))
    credentials = settings.sasl
    if credentials is None:
        return UpstreamSecurity(settings.tls)
    login = Login(credentials.mechanism, lambda: exchange(credentials, secrets.token_urlsafe(24)))
    return UpstreamSecurity(settings.tls, login)
