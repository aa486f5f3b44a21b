"""Telling the parts of a node about new images. A part that fails is a fault of ours, and of that part alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from doorkeeper.cluster.image.metadata import MetadataImage

LOGGER: Final = logging.getLogger("doorkeeper.node")


class Publisher:
    """Tells every subscriber of every image, in order."""

    def __init__(self) -> None:
        self._subscribers: list[Callable[[MetadataImage], None]] = []

    def subscribe(self, publish: Callable[[MetadataImage], None], image: MetadataImage) -> None:
        """Be told of every image from now on, and of the present one at once."""
        self._subscribers.append(publish)
        publish(image)

    def publish(self, image: MetadataImage) -> None:
        for publish in self._subscribers:
            try:
                publish(image)
            except Exception:
                LOGGER.exception(
                    "a part of the node could not take in the metadata at offset %d", image.provenance.offset
                )
