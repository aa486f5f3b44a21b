"""HTML that can't be broken by what stands in it: text is escaped unless it was made here.

Names come from clients, and a client id is an attacker's string. So a text passes two gates: control, bidirectional and
other invisible characters become escapes that can be read (`escape_for_display`), and then HTML's own five characters
become entities. Only `tag` makes `Html`, and only `Html` is let through as it is.
"""

from __future__ import annotations

from html import escape
from typing import Final

from doorkeeper.rules.javatext import escape_for_display

SHOWN_NAME: Final = 96  # characters of a name; what is longer ends in `…`
SHOWN_TEXT: Final = 2000  # characters of any other text
_VOID: Final = frozenset(("meta", "rect", "line", "path", "circle", "br", "col"))


class Html(str):
    """Markup that `tag` made, or a constant of this package."""

    __slots__ = ()


Child = str | None
Attribute = str | int | float | None


def safe(text: str, limit: int = SHOWN_TEXT) -> Html:
    """Any text, fit to stand between tags and in an attribute."""
    return text if isinstance(text, Html) else Html(escape(escape_for_display(text, limit)))


def tag(element: str, *children: Child, **attributes: Attribute) -> Html:
    """One element; None leaves a child or an attribute out. Attributes: `class_`, `data_label` for `data-label`."""
    opened = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{safe(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Html(f"<{element}{opened}>" if element in ("meta", "br", "col") else f"<{element}{opened}/>")
    inner = "".join(safe(child) for child in children if child is not None)
    return Html(f"<{element}{opened}>{inner}</{element}>")


def joined(*parts: Child) -> Html:
    """Parts one after the other."""
    return Html("".join(safe(part) for part in parts if part is not None))


def name(text: str | None, limit: int = SHOWN_NAME) -> Html:
    """A name as a client sent it: apart from the sentence around it in type and in direction."""
    if text is None:
        return tag("span", "none", class_="quiet")
    if not text:
        return tag("span", "(empty)", class_="quiet")
    return tag("code", tag("bdi", safe(text, limit)))


def symbol(text: str) -> Html:
    """An identifier of ours such as GROUP_ID_TOO_LONG: it may break after an underscore, and nowhere else."""
    return Html(safe(text).replace("_", "_<wbr>"))


def number(value: int) -> str:
    """With a comma between thousands."""
    return f"{value:,}"


def counted(value: int, one: str, many: str | None = None) -> str:
    """As in `1 client`, `2 clients`."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"
