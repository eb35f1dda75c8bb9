"""A browser that is signed in and notes what a page must never do."""

from __future__ import annotations

import os
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe

WATCH = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.__violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}`);
});
"""
DESKTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def sign_in(page, client, user, live_server):
    """`page` with the session of `user`, collecting errors and blocked parts of pages."""
    client.force_login(user)
    cookie = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.add_init_script(WATCH)
    page.set_viewport_size(DESKTOP)
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "console",
        lambda said: page.problems.append(said.text) if said.type == "error" else None,
    )
    return page


def quiet(page) -> None:
    """Nothing was blocked by the content policy and no script failed."""
    assert page.evaluate("window.__violations") == []
    assert page.problems == []


def look(page, name: str, *, full_page: bool = False) -> None:
    """axe, no sideways scroll and no violation at both widths.

    With SCREENSHOTS set to a folder, pictures are kept there for a person to look at.
    """
    folder = os.environ.get("SCREENSHOTS")
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        quiet(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, size)
        found = Axe().run(page).response["violations"]
        serious = [
            (v["id"], [node["html"][:120] for node in v["nodes"]])
            for v in found
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == [], (name, size)
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name}-{size['width']}.png", full_page=full_page)
