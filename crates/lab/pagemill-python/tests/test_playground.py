"""The site that `cargo xtask site` makes, from a plain file server in a browser: the playground, the guides and the gallery."""

import functools
import gzip
import http.server
import os
import subprocess
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import Watched, launched

COMPRESSED_BYTES_MAX = 5_000_000
WAITS_MAX = 2400


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def folder():
    """The site's files."""
    site = Path(os.environ.get("PAGEMILL_SITE", Path(__file__).resolve().parents[4] / "target/website"))
    if not (site / "playground/index.html").exists():
        pytest.fail(f"there is no site in {site}: cargo xtask site")
    return site


@pytest.fixture(scope="module")
def address(folder):
    """Where a file server serves the site."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser():
    yield from launched()


class Page:
    """A page of the site that notes errors and requests."""

    def __init__(self, browser, address, path, **context):
        self.address = address
        self.watched = Watched(browser, address + path, **context)
        self.page = self.watched.page

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.watched.context.close()

    def check(self):
        assert self.watched.errors == []
        assert all(url.startswith((self.address, "blob:", "data:")) for url in self.watched.requests), self.watched.requests

    def until(self, condition):
        """Waits for a condition; the page's own policy forbids Playwright's way."""
        for _ in range(WAITS_MAX):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        pytest.fail(f"{condition} never holds: {self.page.inner_text('#error')} {self.watched.errors}")

    def answered(self, runs=1):
        self.until(f"['{runs}', 'error'].includes(document.body.dataset.answered)")
        assert self.page.inner_text("#error") == ""


def opened(browser, address, **context):
    return Page(browser, address, "playground/index.html", **context)


def test_the_playground_is_small(folder):
    files = [path for path in (folder / "playground").iterdir() if path.is_file()]
    size = sum(len(gzip.compress(path.read_bytes())) for path in files)
    print("bytes of the playground, compressed:", size)
    assert size < COMPRESSED_BYTES_MAX


def test_the_first_answer_needs_no_click(browser, address):
    with opened(browser, address) as opening:
        opening.answered()
        # The browser's own clock, which starts with the page: a figure to read, not to judge a loaded computer by.
        print("milliseconds to the first answer:", opening.page.evaluate("performance.now()"))
        opening.check()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"program": "vector-add", "policy": "whole-page", "page_size": "2 MiB", "link": "32 GB/s", "factor": "0"},
        {"program": "laplace3d", "policy": "single-range", "factor": "4"},
        {"program": "aes", "policy": "programmer-copy", "factor": "0"},
        {"program": "ray", "machine": "h100", "policy": "on-demand", "factor": "1.5"},
        {"program": "lib", "machine": "rtx5090", "policy": "multi-range"},
        {"program": "wp"},
        {"program": "random-warp", "policy": "on-demand", "machine": "v100-nvlink-p9", "factor": "1.5"},
        {"program": "grid-stride", "policy": "partial-pages", "machine": "a100-pcie4-x86", "link": "64 GB/s"},
    ],
    ids=lambda settings: "-".join(settings.values()) or "default",
)
def test_answers_are_those_of_the_command(browser, address, settings, tmp_path, pagemill_command):
    with opened(browser, address) as opening:
        page = opening.page
        opening.answered()
        runs = 1
        if settings:
            for name in ["program", "machine", "policy", "page_size", "link", "factor"]:
                if name in settings:
                    page.select_option(f"#{name}", settings[name])
            page.click("#run")
            runs = 2
        opening.answered(runs)
        (tmp_path / "playground.toml").write_text(page.input_value("#scenario"))
        command = page.input_value("#command").split()
        assert command[:3] == ["pagemill", "run", "playground.toml"]
        ran = subprocess.run([pagemill_command, *command[1:3], "--format", "json"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert page.evaluate("window.playground.answer.results") == ran.stdout
        opening.check()


def test_the_map_fills_and_runs_can_be_compared(browser, address):
    with opened(browser, address, viewport={"width": 1280, "height": 900}) as opening:
        page = opening.page
        opening.answered()
        shown = "document.querySelector('.map').view.until"
        page.click("#replay")
        halfway = page.evaluate(f"{shown} < document.querySelector('.map').view.map.end")
        assert halfway
        opening.until(f"{shown} === Infinity")
        assert page.evaluate("document.querySelector('.map').view.map.bands.length") > 1
        page.select_option("#policy", "whole-page")
        page.click("#run")
        opening.answered(2)
        assert page.locator("#rows tbody tr").count() == 2
        assert "whole-page" in page.locator("#rows tbody tr").first.inner_text()
        opening.check()


def test_the_page_stays_alive_and_a_run_can_be_stopped(browser, address):
    with opened(browser, address) as opening:
        page = opening.page
        opening.answered()
        page.select_option("#program", "random-warp")
        page.select_option("#factor", "4")
        page.click("#run")
        opening.until("document.getElementById('progress').value > 0")
        assert page.is_visible("#progress")
        page.click("#stop")
        assert "Stopped" in page.inner_text("#error")
        page.select_option("#program", "bfs")
        page.click("#run")
        opening.answered(2)
        opening.check()


def test_a_mistake_is_named(browser, address):
    with opened(browser, address) as opening:
        page = opening.page
        opening.answered()
        page.fill("input[name=size-nodes]", "99999999999")
        page.click("#run")
        page.wait_for_selector("#error:not([hidden])")
        assert "nodes" in page.inner_text("#error")
        opening.check()


def test_the_keyboard_is_enough(browser, address):
    with opened(browser, address) as opening:
        page = opening.page
        opening.answered()
        page.focus("#program")
        page.keyboard.type("vector")
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "run":
                break
        page.keyboard.press("Enter")
        opening.answered(2)
        assert "vector-add" in page.input_value("#scenario")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.focus("#copy-scenario")
        page.keyboard.press("Enter")
        opening.until("document.getElementById('status').textContent === 'Copied.'")
        assert page.evaluate("navigator.clipboard.readText()") == page.input_value("#scenario")
        opening.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_playground_fits_and_is_accessible(browser, address, width, scheme):
    context = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "bypass_csp": True, "reduced_motion": "reduce"}
    with opened(browser, address, **context) as opening:
        page = opening.page
        opening.answered()
        page.wait_for_timeout(200)
        opening.watched.shoot(f"playground-{width}-{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page).response["violations"]
        assert [entry["id"] for entry in found if entry["impact"] in ("serious", "critical")] == []
        opening.check()


def test_guides_and_gallery_are_there(folder, browser, address):
    pages = sorted(path.relative_to(folder) for path in folder.rglob("*.html"))
    assert Path("docs/first-steps.html") in pages and Path("docs/gallery/ppm.html") in pages and Path("index.html") in pages
    with Page(browser, address, "index.html", viewport={"width": 390, "height": 844}) as opening:
        for path in pages:
            if path.parts[0] == "playground":
                continue
            opening.page.goto(address + path.as_posix())
            width = opening.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, f"{path} is {width} pixels wide"
            targets = opening.page.evaluate("[...document.querySelectorAll('a, img')].map((one) => one.href || one.src)")
            for target in targets:
                if target.startswith(address):
                    file = folder / target.removeprefix(address).split("#")[0]
                    assert file.exists(), f"{path} leads to {target}"
        opening.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", ["index.html", "docs/first-steps.html", "docs/gallery/ppm.html"])
def test_guides_are_accessible(browser, address, path, width, scheme):
    with Page(browser, address, path, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True) as opening:
        opening.watched.shoot(f"site-{Path(path).stem}-{width}-{scheme}", full_page=False)
        found = Axe().run(opening.page).response["violations"]
        assert [entry["id"] for entry in found if entry["impact"] in ("serious", "critical")] == []
        opening.check()
