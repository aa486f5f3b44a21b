"""The report in a real browser: Chromium without a window, by its driver; skipped by name where there is none.

Every page is looked at as a file, with no network: nothing of it may ask for anything.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.audit.summaries import ATTACKS, EMPTY, SAFE, busy

from doorkeeper.audit.report import render_report

PHONE = 375  # CSS pixels
PAGES = {"busy": busy(), "attacks": busy(ATTACKS), "safe": SAFE, "empty": EMPTY}
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A driver with a log of what the page says and asks for."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        reason = "chromium and chromedriver are not installed: run `tools/need.sh browser`"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield started
    finally:
        started.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    paths = {}
    for title, summary in PAGES.items():
        paths[title] = folder / f"{title}.html"
        paths[title].write_text(render_report(summary), encoding="utf-8")
    return paths


def look(browser: Any, page: Path, width: int = 1200, *, scheme: str = "light", media: str = "") -> None:
    """Open the page in a window of this width."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(page.as_uri())


def script(browser: Any, text: str) -> Any:
    return browser.execute_script(f"return {text}")


@pytest.mark.parametrize("title", PAGES)
def test_logs_no_error_and_requests_nothing_but_itself(browser: Any, pages: dict[str, Path], title: str) -> None:
    look(browser, pages[title])
    assert [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"] == []
    asked = [
        entry["message"] for entry in browser.get_log("performance") if "Network.requestWillBeSent" in entry["message"]
    ]
    assert [message for message in asked if pages[title].as_uri() not in message] == []


@pytest.mark.parametrize("title", PAGES)
@pytest.mark.parametrize("width", [PHONE, 768, 961, 1200])
def test_never_scrolls_sideways(browser: Any, pages: dict[str, Path], title: str, width: int) -> None:
    look(browser, pages[title], width)
    assert script(browser, "document.documentElement.scrollWidth") <= width
    script(browser, "document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert script(browser, "document.documentElement.scrollWidth") <= width


def test_attacks_stay_text(browser: Any, pages: dict[str, Path]) -> None:
    look(browser, pages["attacks"])
    assert browser.title == "Doorkeeper audit: refused"
    assert script(browser, "document.querySelectorAll('script, img, iframe, object, link, form').length") == 0
    assert script(browser, "document.querySelectorAll('style').length") == 1
    assert "</script><script>" in script(browser, "document.body.innerText")
    shown = script(browser, "document.body.innerText")
    assert not set("\u202e\u2066\u200f\x1b\x07") & set(shown)


def test_a_wide_screen_shows_tables_and_a_phone_shows_cards(browser: Any, pages: dict[str, Path]) -> None:
    first_row = "getComputedStyle(document.querySelector('#kinds tbody tr')).display"
    look(browser, pages["busy"], 1200)
    assert script(browser, first_row) == "table-row"
    look(browser, pages["busy"], PHONE)
    assert script(browser, first_row) == "block"
    assert script(browser, "document.querySelector('#kinds tbody tr').getAttribute('role')") == "row"


def contrast(browser: Any, selector: str) -> float:
    """Of text on its background, by WCAG's formula."""
    return float(
        browser.execute_script(
            """
            const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
            const light = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number);
              return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b); };
            const one = document.querySelector(arguments[0]);
            let behind = one;
            while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
            const [a, b] = [getComputedStyle(one).color, getComputedStyle(behind).backgroundColor].map(light).sort();
            const [low, high] = a < b ? [a, b] : [b, a];
            return (high + 0.05) / (low + 0.05);
            """,
            selector,
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "selector", ["h1", "main > section p", ".quiet", ".under", ".pill.refused", ".pill.unjudged", "nav a", "code"]
)
def test_text_can_be_read_in_light_and_in_dark(
    browser: Any, pages: dict[str, Path], scheme: str, selector: str
) -> None:
    look(browser, pages["busy"], scheme=scheme)
    assert contrast(browser, selector) >= 4.5


def test_dark_is_dark(browser: Any, pages: dict[str, Path]) -> None:
    backgrounds = []
    for scheme in ("light", "dark"):
        look(browser, pages["busy"], scheme=scheme)
        backgrounds.append(script(browser, "getComputedStyle(document.body).backgroundColor"))
    assert backgrounds[0] != backgrounds[1]


def test_prints_on_white_without_what_only_a_screen_needs(browser: Any, pages: dict[str, Path]) -> None:
    look(browser, pages["busy"], scheme="dark", media="print")
    assert script(browser, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert script(browser, "getComputedStyle(document.querySelector('nav')).display") == "none"
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF-")


def test_a_screen_reader_finds_one_heading_landmarks_and_named_tables(browser: Any, pages: dict[str, Path]) -> None:
    look(browser, pages["busy"])
    assert script(browser, "document.documentElement.lang") == "en"
    assert script(browser, "document.querySelectorAll('h1').length") == 1
    assert script(browser, "document.querySelectorAll('main, nav, header, footer').length") == 4
    assert script(browser, "[...document.querySelectorAll('table.cards')].every(one => one.caption.textContent)")
    assert script(browser, "[...document.querySelectorAll('svg[role=img]')].every(one => one.querySelector('title'))")
    links = "[...document.querySelectorAll('nav a')].every(one => document.querySelector(one.getAttribute('href')))"
    assert script(browser, links)
