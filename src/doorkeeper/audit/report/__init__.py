"""`DIR/report.html`: one self-contained page, made from the summary document alone. Knows nothing of Spark."""

from doorkeeper.audit.report.page import render_report

__all__ = ["render_report"]
