"""`report.html` in a browser: figures that hide nothing, and the page map by mouse, keyboard and finger."""

import csv
import os
import subprocess
from xml.etree import ElementTree

import pagemill
import pytest
import screenshots
from axe_playwright_python.sync_playwright import Axe
from browser import SCREENSHOTS, Watched, launched
from PIL import Image

# A program whose data are four times what its GPU has: pages come and go.
THRASHING = [
    "smoke",
    "--set",
    'workload=[{ name = "bfs", nodes = 4096 }]',
    "--set",
    'transfer.mode=["whole-page", "multi-range"]',
    "--set",
    'machine.dram.capacity="64 KiB"',
]
# A small run of each kind of scenario; those of kind `cuda` need a program, and look as those of `gpu`.
KINDS = {
    "gpu": ["smoke"],
    "residency": [
        "uvm-on-demand",
        "--set",
        "machine=a100-pcie4-x86",
        "--set",
        'access.pattern=["grid-stride", "block-stride"]',
        "--set",
        "residency.factor=[0.8, 1.25]",
        "--set",
        "residency.ballast=0.99",
    ],
    "nic": ["pni-latency"],
    "zeroing": ["zero-latency"],
    "coloring": [
        "cachepm-pairs",
        "--set",
        'workload={name="block-sort", bytes=20000}',
        "--set",
        "workload.name=block-sort",
        "--set",
        'partner={name="lattice-boltzmann", side=10, steps=2}',
        "--set",
        "partner.name=lattice-boltzmann",
    ],
    "pager": [
        "pager-budgets",
        "--set",
        "workload.name=random",
        "--set",
        'pager.memory="16 MiB"',
        "--set",
        'pager.policy=["whole-page", "multi-range"]',
        "--set",
        "pager.read_ahead=streams",
        "--set",
        "pager.store=folder",
    ],
}
PROGRAMS = ["vector-add", "bfs", "laplace3d"]
ZOOM_STEP_MS_MAX = 50
ZOOM_STEPS = 12


@pytest.fixture(scope="module")
def shots():
    """Screenshots of this session by name."""
    return {}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    command = os.environ["PAGEMILL"]
    for name, arguments in [("smoke", ["smoke"]), ("thrashing", THRASHING)]:
        subprocess.run([command, "run", *arguments, "--out", folder / name], check=True, capture_output=True)
    # The page is called as the folder is: a path would be another one in each process.
    subprocess.run([command, "report", "pages", "thrashing"], check=True, capture_output=True, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def browser():
    yield from launched()


def opened(browser, results, name, **context):
    watched = Watched(browser, results / name, **context)
    watched.page.wait_for_selector(".map[data-ready]")
    return watched


def view(page, expression):
    return page.evaluate(f"(() => {{ const view = document.querySelector('.map').view, map = view.map; return {expression}; }})()")


def test_a_notebook_shows_the_map(browser, tmp_path):
    """As Jupyter shows it: HTML put into a page whose style is not ours."""
    result = pagemill.run("smoke", pages=True)
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><style>canvas {{ display: none }}</style><div>{result.pages()._repr_html_()}</div>")
    with Watched(browser, notebook) as watched:
        frame = watched.page.frame_locator("iframe")
        frame.locator(".map[data-ready]").wait_for()
        assert frame.locator(".map canvas").is_visible()
        frame.locator(".map-in").click()
        assert float(frame.locator(".map").get_attribute("data-draw-ms")) >= 0
        watched.check()
        watched.shoot("notebook")


def filled(text):
    """The rows of a CSV file. Those of a page have no column without values."""
    return [{name: value for name, value in row.items() if value} for row in csv.DictReader(text.splitlines())]


def test_figures_and_rows_can_be_taken_along(results, browser, tmp_path):
    """Figures in the colors of the page, rows with every digit."""
    with opened(browser, results, "smoke/report.html", color_scheme="dark") as watched:
        page = watched.page

        def taken(place, form):
            with page.expect_download() as download:
                place.get_by_role("button", name=form, exact=True).click()
            path = tmp_path / download.value.suggested_filename
            download.value.save_as(path)
            return path

        figure = page.locator("figure").first
        drawing = taken(figure, "SVG")
        assert drawing.name.endswith("-figure-1.svg")
        whole = ElementTree.parse(drawing).getroot()
        assert [text.text for text in whole.findall("{*}text")] == [figure.locator("h3").inner_text(), page.locator("h1").inner_text()]
        assert "var(" not in drawing.read_text()
        assert len(whole.findall("{*}svg")) == figure.locator(".panels > svg, .always > svg").count()
        with Image.open(taken(figure, "PNG")) as picture:
            assert picture.size == (2 * int(whole.get("width")), 2 * int(whole.get("height")))
            assert picture.getpixel((1, 1))[:3] == (0x14, 0x18, 0x1D)
            assert len(picture.convert("RGB").getcolors(1 << 24)) > 20
        rows = taken(page.locator("main"), "CSV")
        assert not rows.name.startswith("-")
        assert filled(rows.read_text()) == filled((results / "smoke/results.csv").read_text())
        watched.check()


def test_every_program_is_in_every_figure(results, browser):
    with opened(browser, results, "smoke/report.html") as watched:
        page = watched.page
        figures = page.locator("figure")
        assert figures.count() >= 3
        for number in range(figures.count()):
            figure = figures.nth(number)
            text = figure.locator(".panels").evaluate("element => element.textContent")
            for program in PROGRAMS:
                assert f"{program}, multi-range" in text, f"{program} is not in figure {number + 1}"
            assert len(figure.locator("figcaption").inner_text()) > len("Figure 1. ")
        watched.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_report_fits_and_is_accessible(results, browser, shots, width, scheme):
    viewport = {"width": width, "height": 844}
    with opened(browser, results, "thrashing/report.html", viewport=viewport, color_scheme=scheme, bypass_csp=True) as watched:
        page = watched.page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # The drawing for this width is shown, and its data begin on the first screen.
        shown = page.locator("figure svg:visible").first.bounding_box()
        assert width == 1280 or shown["width"] <= width
        found = Axe().run(page).response["violations"]
        serious = [entry["id"] for entry in found if entry["impact"] in ("serious", "critical")]
        assert serious == [], serious
        watched.check()
        name = f"report-{width}-{scheme}"
        shots[name] = watched.shoot(name)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    for kind, arguments in KINDS.items():
        subprocess.run([os.environ["PAGEMILL"], "run", *arguments, "--out", folder / kind], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_the_report_of_each_kind(kinds, browser, shots, kind, width, scheme):
    context = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "bypass_csp": True}
    with Watched(browser, kinds / kind / "report.html", **context) as watched:
        page = watched.page
        if page.locator(".map").count():
            page.wait_for_selector(".map[data-ready]")
        page.wait_for_timeout(100)
        name = f"kind-{kind}-{width}-{scheme}"
        shots[name] = watched.shoot(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # Every figure has a drawing that is seen, and no text of a drawing is outside it.
        figures = page.locator("figure")
        for number in range(figures.count()):
            assert figures.nth(number).locator("svg:visible").count() > 0, f"figure {number + 1} of {kind} is empty"
        outside = page.evaluate(
            """() => [...document.querySelectorAll('figure svg')].flatMap((svg) => {
                const frame = svg.getBoundingClientRect();
                if (frame.width === 0) return [];
                const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
                const is_out = ([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
                return texts.filter(is_out).map(([text]) => text);
            })"""
        )
        assert outside == []
        found = Axe().run(page).response["violations"]
        assert [entry["id"] for entry in found if entry["impact"] in ("serious", "critical")] == []
        watched.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_map_at_three_zooms(results, browser, shots, width, scheme):
    viewport = {"width": width, "height": 900}
    with opened(browser, results, "thrashing-pages.html", viewport=viewport, color_scheme=scheme) as watched:
        page = watched.page
        pictures = []
        for zoom in range(3):
            page.wait_for_timeout(100)
            name = f"map-{width}-{scheme}-{zoom}"
            shots[name] = watched.shoot(name, full_page=False)
            pictures.append(shots[name])
            page.locator(".map canvas").focus()
            for _ in range(6):
                page.keyboard.press("+")
                page.keyboard.press("Shift+ArrowUp")
        assert len(set(pictures)) == 3
        # What is no memory has the color of the page.
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == "rgb({}, {}, {})".format(*view(page, "view.colors().none"))
        # No zoom is one color: there is something to see.
        colors = page.evaluate(
            """() => {
                const canvas = document.querySelector('.map canvas');
                const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
                const seen = new Set();
                for (let at = 0; at < pixels.length; at += 4) seen.add(pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2]);
                return seen.size;
            }"""
        )
        assert colors > 8
        watched.check()


def test_a_zoom_step_is_quick(results, browser):
    with opened(browser, results, "thrashing-pages.html", viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        times = []
        for _ in range(ZOOM_STEPS):
            page.locator(".map-in").click()
            page.wait_for_timeout(50)
            times.append(float(page.locator(".map").get_attribute("data-draw-ms")))
        # The quickest step says what the drawing costs; the others also what else the machine does.
        assert min(times) < ZOOM_STEP_MS_MAX, times
        print("milliseconds a zoom step:", sorted(times))
        watched.check()


def test_a_page_tells_its_history(results, browser):
    with opened(browser, results, "thrashing-pages.html", viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        busiest = view(page, "[...map.histories].sort((a, b) => b[1].length - a[1].length)[0][0]")
        events = view(page, f"map.histories.get({busiest}).length")
        first = view(page, f"map.histories.get({busiest})[0].start")
        page.fill(".map-find", str(busiest * 4096))
        page.keyboard.press("Tab")
        assert f"{events} events" in page.locator(".map-table caption").inner_text()
        assert page.locator(".map-table tbody tr").count() == min(events, 400)
        assert page.locator(".map-table tbody tr td").nth(2).inner_text() == "fault"
        # Pointing at the first arrival names its kernel.
        view(page, f"(view.view.t0 = {first}, view.view.t1 = {first} + 4e6, view.draw())")
        page.wait_for_timeout(100)
        box = page.locator(".map canvas").bounding_box()
        page.mouse.move(box["x"] + 400, box["y"] + 200)
        words = page.locator(".map-says").inner_text()
        assert "fault by" in words and "launch" in words, words
        watched.check()


def test_a_span_of_time_has_a_table(results, browser):
    with opened(browser, results, "thrashing-pages.html", viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        assert "Whole run" in page.locator(".map-table caption").inner_text()
        box = page.locator(".map canvas").bounding_box()
        strip = box["y"] + box["height"] - 60
        page.mouse.move(box["x"] + 300, strip)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, strip, steps=4)
        page.mouse.up()
        assert "Selected" in page.locator(".map-table caption").inner_text()
        names = page.locator(".map-table tbody tr td:first-child").all_inner_texts()
        assert names == view(page, "map.bands.map((band) => band.name)")
        watched.check()


def test_filters_and_keys(results, browser):
    with opened(browser, results, "thrashing-pages.html", viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        whole = view(page, "view.view.v1 - view.view.v0")
        page.select_option(".map-band", "1")
        assert view(page, "view.view.v1 - view.view.v0") < whole
        page.select_option(".map-cause", label="eviction")
        page.locator(".map-all").click()
        assert view(page, "view.view.v1 - view.view.v0") == whole
        page.locator(".map canvas").focus()
        end = view(page, "view.view.t1")
        page.keyboard.press("+")
        assert view(page, "view.view.t1 - view.view.t0") < end
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        assert view(page, "view.view.t1") == end
        page.keyboard.press("Enter")
        assert "History of page" in page.locator(".map-table caption").inner_text()
        if page.locator(".map-run").count():
            page.select_option(".map-run", index=1)
            page.wait_for_timeout(300)
        watched.check()


def test_pages_look_as_kept(shots):
    if not shots:
        pytest.skip("no test of this session took a screenshot")
    if screenshots.IS_KEEPING:
        for name, png in shots.items():
            screenshots.keep(name, png)
    kept_font = screenshots.FONT.read_text().strip()
    if screenshots.font() != kept_font:
        pytest.skip(f"screenshots are kept with {kept_font}, and the font here is {screenshots.font()}")
    differences = [screenshots.difference(name, png) for name, png in shots.items()]
    told = "\n".join(filter(None, differences))
    assert told == "", f"{told}\nLook at {SCREENSHOTS}; if that is right: PAGEMILL_KEEP_SCREENSHOTS=1 cargo xtask python"
