"""Pages in a browser that note what goes wrong."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
SCREENSHOTS = Path(__file__).resolve().parents[4] / "target/screenshots"


def launched():
    """Chromium without a window, until the generator ends."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"{CHROMIUM} is not there: sudo apt-get install -y chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page that notes errors and requests."""

    def __init__(self, browser, path, **context):
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path if isinstance(path, str) else path.as_uri())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    def check(self):
        assert self.errors == []
        # The browser keeps what a script makes of its own data as a blob of the page.
        assert all(url.startswith(("file:", "blob:")) for url in self.requests), self.requests

    def shoot(self, name, **options):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        return self.page.screenshot(path=SCREENSHOTS / f"{name}.png", **{"full_page": True, **options})
