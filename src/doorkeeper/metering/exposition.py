"""Metrics as text: what Prometheus reads, and JSON under Kafka's object names.

The text is OpenMetrics 1.0, whose rules are the stricter ones; readers of the older Prometheus format (0.0.4) take it
as well, for there `# EOF` is a comment.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from doorkeeper.metering.histogram import Histogram

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = Sequence[tuple[str, str]]
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_HELP_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


@dataclass(slots=True)
class Family:
    """All samples of one metric."""

    name: str
    """Without the `_total` of a counter's samples."""
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    lines: list[str] = field(default_factory=list)

    def add(self, labels: Labels, value: float) -> None:
        """A sample of a gauge or a counter."""
        suffix = "_total" if self.kind == "counter" else ""
        self.lines.append(f"{self.name}{suffix}{_shown(labels)} {number(value)}")

    def add_histogram(self, labels: Labels, histogram: Histogram, unit: float) -> None:
        """The buckets of a histogram. `unit`: what one of its values is in the unit of the family."""
        for bound, count in histogram.cumulative(unit):
            self.lines.append(f"{self.name}_bucket{_shown([*labels, ('le', number(bound))])} {count}")
        self.lines.append(f"{self.name}_count{_shown(labels)} {histogram.count}")
        self.lines.append(f"{self.name}_sum{_shown(labels)} {number(histogram.total * unit)}")


def number(value: float) -> str:
    """A number as the format wants it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


def _shown(labels: Labels) -> str:
    """Label values may be any text: three characters are escaped, the rest stands as it is."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels) + "}"


def prometheus_text(families: Iterable[Family]) -> str:
    """The whole exposition; families without samples are left out."""
    lines = []
    for family in families:
        if family.lines:
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines.append(f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}")
            lines += family.lines
    return "\n".join([*lines, "# EOF", ""])


def json_text(measured: Mapping[str, Mapping[str, float | str]]) -> str:
    """Attributes by object name; a number that there is none of (NaN) is null."""
    shown = {name: {key: _finite(value) for key, value in attributes.items()} for name, attributes in measured.items()}
    return json.dumps(shown, ensure_ascii=False, allow_nan=False)


def _finite(value: float | str) -> float | str | None:
    if isinstance(value, str) or math.isfinite(value):
        return value
    return None
