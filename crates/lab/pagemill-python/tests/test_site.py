"""`pagemill report` in a browser: filters, comparison, keyboard, phone, dark mode, and no request that leaves the machine."""

import os
import subprocess

import pytest
from browser import Watched, launched

PAGE_BYTES_MAX = 3_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    command = os.environ["PAGEMILL"]
    for name, page in [("large", "64 KiB"), ("small", "4 KiB")]:
        subprocess.run(
            [command, "run", "smoke", "--set", f"transfer.page_size={page}", "--out", folder / "runs" / name],
            check=True,
            capture_output=True,
        )
    subprocess.run([command, "report", folder / "runs", "--out", folder / "site"], check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    yield from launched()


def rows(page):
    return page.locator("#rows tbody tr").count()


def test_pages_are_small_and_quiet(site, browser):
    pages = sorted(site.glob("*.html"))
    assert [page.name for page in pages] == ["index.html", "run-1.html", "run-2.html"]
    for path in pages:
        assert path.stat().st_size < PAGE_BYTES_MAX
        for scheme in ("light", "dark"):
            with Watched(browser, path, color_scheme=scheme) as watched:
                watched.check()
                watched.shoot(f"{path.stem}-{scheme}")


def test_rows_are_filtered_and_compared(site, browser):
    with Watched(browser, site / "index.html") as watched:
        page = watched.page
        assert rows(page) == 15
        page.fill("#filter", "mode=whole-page")
        assert rows(page) == 3
        page.fill("#filter", "mode=whole-page time_ns>0 laplace")
        assert rows(page) == 1
        page.fill("#filter", "time_ns<0")
        assert rows(page) == 0
        page.fill("#filter", "mode=multi-range")
        page.select_option("#second", "small")
        page.select_option("#metric", "migrated_bytes")
        cells = page.locator("#rows tbody tr").first.locator("td")
        assert cells.nth(cells.count() - 2).inner_text().endswith("iB")
        own, other, ratio = (float(cell.get_attribute("title") or cell.inner_text()) for cell in cells.all()[-3:])
        assert ratio == pytest.approx(own / other, rel=1e-3)
        assert "3 of 15 rows; migrated_bytes is" in page.inner_text("#summary")
        watched.check()
        watched.shoot("index-compared")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_ratios_are_always_in_sight(site, browser, width, scheme):
    viewport = {"width": width, "height": 844}
    with Watched(browser, site / "index.html", viewport=viewport, color_scheme=scheme) as watched:
        page = watched.page
        page.select_option("#second", "small")
        region = page.locator("[aria-label=Rows]")

        def in_sight():
            outer, inner = region.bounding_box(), page.locator("#rows tbody td:last-child").first.bounding_box()
            return inner["x"] >= 0 and inner["x"] + inner["width"] <= outer["x"] + outer["width"] <= width

        assert in_sight()
        # What scrolls past the ratios does not shine through.
        assert page.locator("#rows tbody td:last-child").first.evaluate("cell => getComputedStyle(cell).backgroundColor") not in (
            "transparent",
            "rgba(0, 0, 0, 0)",
        )
        region.focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert in_sight()
        page.wait_for_function(
            """() => new Promise((done) => {
                const region = document.querySelector("[aria-label=Rows]");
                const before = region.scrollLeft;
                setTimeout(() => done(region.scrollLeft === before), 200);
            })"""
        )
        # Every heading that the keyboard reaches is beside the ratios, not under them.
        is_clear = """() => {
            const focused = document.activeElement.getBoundingClientRect();
            const region = document.querySelector("[aria-label=Rows]").getBoundingClientRect();
            const ratios = document.querySelector("#rows thead th:last-child").getBoundingClientRect();
            return focused.left >= region.left - 1 && focused.right <= ratios.left + 1;
        }"""
        for _ in range(page.locator("#rows thead button").count() - 1):
            page.keyboard.press("Tab")
            # Browsers scroll in their own time.
            page.wait_for_function(is_clear, timeout=10_000)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.locator("#rows th:last-child[aria-sort=ascending]").count() == 1
        ratios = [float(text) for text in page.locator("#rows tbody td:last-child").all_inner_texts()]
        assert ratios == sorted(ratios) and len(ratios) == 15
        watched.check()
        watched.shoot(f"index-compared-{width}-{scheme}")


def test_the_keyboard_is_enough(site, browser):
    with Watched(browser, site / "index.html") as watched:
        page = watched.page
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        assert ["first", "second", "metric", "filter"] == [name for name in reached if name in ("first", "second", "metric", "filter")]
        page.focus("#filter")
        page.keyboard.type("mode=whole-page")
        assert rows(page) == 3
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort=ascending]").count() == 1
        page.keyboard.press("Enter")
        assert page.locator("th[aria-sort=descending]").count() == 1
        page.focus("text=large")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run-1.html")
        watched.check()


def test_a_phone_shows_all_of_it(site, browser):
    for path in sorted(site.glob("*.html")):
        with Watched(browser, path, viewport={"width": 360, "height": 740}, is_mobile=True) as watched:
            width = watched.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 360, f"{path.name} is {width} pixels wide"
            watched.check()
            watched.shoot(f"{path.stem}-phone")
