"""Write docs/reference/configs.md: `python -m tools.config_reference`."""

from __future__ import annotations

from pathlib import Path

from doorkeeper.cluster.live_configs import reference_page

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "configs.md"

if __name__ == "__main__":
    PAGE.write_text(reference_page(), encoding="utf-8")
