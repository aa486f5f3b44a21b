"""What the parts of Admin share: the way to the cluster."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from doorkeeper.client.errors import raise_for

if TYPE_CHECKING:
    from doorkeeper.client.router import Router
    from doorkeeper.client.settings import ClientSettings


class Api:
    """Base of the parts of Admin, each of which holds one family of calls."""

    _router: Router
    _settings: ClientSettings

    def _server_timeout(self) -> timedelta:
        """How long the cluster itself may work on one attempt."""
        return timedelta(seconds=self._settings.request_timeout)


def check_whole(answer: Any) -> None:
    """Raise for the error of an answer that has one for all."""
    raise_for(answer.error_code, getattr(answer, "error_message", None))
