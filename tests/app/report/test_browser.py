"""The pages in a real browser: Chromium without a window, driven by Selenium, with no network."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_samples import HOSTILE, files, finished, measured, picture, result, searched, table
from report_samples import proven as certificates
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from fedcert.app.report.page import grid_page, run_page
from fedcert.app.report.runs import FinishedRun

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="no chromium or no chromedriver here (Debian: apt-get install chromium chromium-driver)",
)
ROWS = 12
MANY = 5  # rows from which on a table has a filter
CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function luminance(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((x) => x / 255);
  const [r, g, b] = parts.map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function behind(element) {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (!/, 0\\)$/.test(colour)) return colour;
  }
}
return [...document.querySelectorAll("p, h1, h2, h3, dt, dd, td, th, label, summary, a, .badge, .name")]
  .filter((element) => element.offsetParent && element.textContent.trim() && !element.dataset.shade)
  .map((element) => {
    const pair = [getComputedStyle(element).color, behind(element)].map(luminance);
    return [(Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05), element.outerHTML.slice(0, 80)];
  })
  .reduce((least, each) => each[0] < least[0] ? each : least);
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for argument in ("headless=new", "disable-gpu", "disable-dev-shm-usage", "disable-background-networking"):
        options.add_argument(f"--{argument}")
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of pages: a run's, one with hostile texts, one with all kinds of claims, a grid's."""
    folder = tmp_path_factory.mktemp("pages")
    summary, properties = files(result(refused={HOSTILE: HOSTILE}))
    hostile = summary | {"clients": [each | {"client": HOSTILE} for each in summary["clients"]]}
    runs = [
        finished(f"jobs/{seed}/report.html", seed=seed, scale=scale) for seed in (0, 1) for scale in (1e-5, 1)
    ]
    alike = [replace(table(ROWS), name=name, study="Alike", choice=name) for name in ("left", "right")]
    several = replace(searched(), config=result(epsilon=(0.001, 0.03, 0.25)).config)
    proven = [one for epsilon in several.config.epsilon for one in certificates(several.inputs, epsilon)]
    contents = {
        "run": run_page(FinishedRun(summary, properties)),
        "full": run_page(FinishedRun(*files(replace(several, proven=proven)))),
        "measured": run_page(FinishedRun(*files(measured()))),
        "hostile": run_page(FinishedRun(hostile, properties)),
        "grid": grid_page(runs, [table(ROWS), *alike], [picture("one"), picture("two")], "fedcert grid"),
    }
    for name, html in contents.items():
        (folder / f"{name}.html").write_text(html, encoding="utf-8")
    return {name: Path(folder / f"{name}.html").as_uri() for name in contents}


def show(browser: webdriver.Chrome, page: str, width: int = 1280, scheme: str = "light") -> None:
    """Open a page as a screen of this width in this colour scheme shows it."""
    screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}  # a click cannot wait
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page)
    browser.execute_script(
        "for (const part of document.querySelectorAll('details')) part.open = true;"
        "for (const image of document.images) image.loading = 'eager';"
    )
    browser.execute_async_script(
        "Promise.all([...document.images].map((image) => image.decode())).then(arguments[0], arguments[0]);"
    )


def requested(browser: webdriver.Chrome) -> list[str]:
    """What was loaded since the page was opened."""
    entries = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]


def column(sheet: WebElement, place: int) -> list[str]:
    rows = sheet.find_elements(By.CSS_SELECTOR, "tbody tr:not([hidden])")
    return [row.find_elements(By.TAG_NAME, "td")[place].text for row in rows]


def heading(sheet: WebElement, name: str) -> WebElement:
    heads = sheet.find_elements(By.CSS_SELECTOR, "thead tr:last-child th")
    return next(head for head in heads if head.text.strip().startswith(name))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["run", "full", "measured", "hostile", "grid"])
def test_a_page_loads_whole_fits_the_screen_and_can_be_read(
    browser: webdriver.Chrome, pages: dict[str, str], name: str, width: int, scheme: str
) -> None:
    show(browser, pages[name], width, scheme)
    assert browser.get_log("browser") == []
    assert {url for url in requested(browser) if not url.startswith("data:")} == {pages[name]}
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    images = browser.execute_script("return [...document.images].map((image) => image.naturalWidth)")
    assert bool(images) == (name != "measured")
    assert min(images, default=1) > 0
    contrast, where = browser.execute_script(CONTRAST)
    assert contrast >= 4.5, where
    dark = (
        browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(15, 20, 25)"
    )
    assert dark == (scheme == "dark")


@pytest.mark.slow
def test_a_click_on_a_heading_sorts_up_then_down_then_not(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    show(browser, pages["grid"])
    sheet = browser.find_element(By.ID, "table-sample")
    before, head = column(sheet, 1), heading(sheet, "clients")
    rising = sorted(before, key=int)
    assert rising not in (before, sorted(before))  # 9 comes before 10
    for order, expected in (("ascending", rising), ("descending", rising[::-1]), ("none", before)):
        head.find_element(By.TAG_NAME, "button").click()
        assert head.get_attribute("aria-sort") == order
        assert column(sheet, 1) == expected


@pytest.mark.slow
def test_spreads_sort_by_their_means_and_what_is_missing_comes_last(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    show(browser, pages["grid"])
    sheet = browser.find_element(By.ID, "table-sample")
    names = column(sheet, 0)
    heading(sheet, "direct").find_element(By.TAG_NAME, "button").click()
    assert column(sheet, 0) == names[::-1]
    gap = heading(sheet, "gap")
    for last in (names[-1], names[1]):
        gap.find_element(By.TAG_NAME, "button").click()
        assert column(sheet, 0)[-2:] == [last, names[0]]
    assert heading(sheet, "direct").get_attribute("aria-sort") == "none"


@pytest.mark.slow
@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
def test_tables_are_sorted_and_filtered_by_keyboard(
    browser: webdriver.Chrome, pages: dict[str, str], key: str
) -> None:
    show(browser, pages["grid"])
    sheet = browser.find_element(By.ID, "table-sample")
    field = sheet.find_element(By.CSS_SELECTOR, "input[type=search]")
    field.send_keys("row-1")
    assert column(sheet, 0) == ["row-1", "row-10", "row-11"]
    for _ in range(4):  # to the scrolling region and three headings
        browser.switch_to.active_element.send_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "direct"
    browser.switch_to.active_element.send_keys(key)
    assert column(sheet, 0) == ["row-11", "row-10", "row-1"]


@pytest.mark.slow
def test_a_filter_says_how_many_rows_are_left(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    show(browser, pages["grid"])
    sheet = browser.find_element(By.ID, "table-sample")
    field, count = (sheet.find_element(By.CSS_SELECTOR, name) for name in ("input[type=search]", "output"))
    for text, left in (("ROW-7", 1), ("nothing of the kind", 0), ("row 19.0", 1)):
        field.clear()
        field.send_keys(text)
        assert len(column(sheet, 0)) == left
        assert count.text == f"{left} of {ROWS}"
    field.clear()
    field.send_keys(" ")
    assert len(column(sheet, 0)) == ROWS
    assert count.text == ""


@pytest.mark.slow
def test_every_table_can_be_sorted_and_long_ones_filtered(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    for name in ("run", "grid"):
        show(browser, pages[name])
        tables = browser.find_elements(By.CSS_SELECTOR, "table")
        long = [each for each in tables if len(each.find_elements(By.CSS_SELECTOR, "tbody tr")) > MANY]
        fields = browser.find_elements(By.CSS_SELECTOR, "input[type=search][aria-label]")
        assert len(long) == len(fields)
        for each in tables:
            heads = each.find_elements(By.CSS_SELECTOR, "thead tr:last-child th")
            assert {head.get_attribute("aria-sort") for head in heads} == {"none"}
            assert all(head.find_elements(By.TAG_NAME, "button") for head in heads)


BOXES = """
const plot = document.querySelector(arguments[0] + " .plot").getBoundingClientRect();
return [...document.querySelectorAll(arguments[0] + " " + arguments[1])].map((part) => {
  const box = part.getBoundingClientRect();
  return [box.left - plot.left, box.right - plot.left, box.top - plot.top, box.bottom - plot.top]
    .map((place, i) => place / (i < 2 ? plot.width : plot.height));
});
"""


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_the_pictures_fill_the_screen_and_their_labels_do_not_touch(
    browser: webdriver.Chrome, pages: dict[str, str], width: int
) -> None:
    show(browser, pages["full"], width)
    for figure in ("#figure-accuracy", "#figure-radii"):
        plot = browser.find_element(By.CSS_SELECTOR, f"{figure} .plot").size
        assert plot["width"] > 0.6 * min(width, 1000)
        assert plot["height"] >= 200
        ticks = sorted(browser.execute_script(BOXES, figure, ".tick.x"))
        assert len(ticks) > 1
        assert all(left[1] < right[0] for left, right in pairwise(ticks))
        (lines,) = browser.execute_script(BOXES, figure, "svg")
        assert lines == pytest.approx([0, 1, 0, 1], abs=0.01)


@pytest.mark.slow
def test_the_first_picture_shows_what_is_proven_where_it_is_proven(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    show(browser, pages["full"])
    first, *_, last = browser.execute_script(BOXES, "#figure-accuracy", ".plot .dot.proven")
    assert 1 - first[3] == pytest.approx(0.5617, abs=0.02)
    assert 1 - first[2] == pytest.approx(0.6251, abs=0.02)
    assert (last[0] + last[1]) / 2 == pytest.approx(1, abs=0.01)
    (accuracy,) = browser.execute_script(BOXES, "#figure-accuracy", ".plot .dot.accuracy")
    assert ((accuracy[0] + accuracy[1]) / 2, (accuracy[2] + accuracy[3]) / 2) == (
        pytest.approx(0, abs=0.01),
        pytest.approx(0.5, abs=0.02),
    )
    (confidence,) = browser.execute_script(BOXES, "#figure-accuracy", ".plot .dot.confidence")
    assert 1 - confidence[3] == pytest.approx(0.475, abs=0.02)


@pytest.mark.slow
def test_tables_of_a_grid_need_no_sideways_scrolling_on_a_desk(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    for name in ("grid", "full"):
        show(browser, pages[name])
        wide = "return [...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
        assert browser.execute_script(f"{wide}.map((e) => e.parentElement.id)") == []


@pytest.mark.slow
def test_a_selector_shows_one_of_several_alike_tables_and_one_view_of_the_columns(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    show(browser, pages["grid"])

    def shown(selector: str) -> list[str]:
        return [each.text for each in browser.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]

    sheets = {name: browser.find_element(By.ID, f"table-{name}") for name in ("left", "right")}
    assert [sheet.is_displayed() for sheet in sheets.values()] == [True, False]
    Select(browser.find_element(By.CSS_SELECTOR, "[data-study]")).select_by_visible_text("right")
    assert [sheet.is_displayed() for sheet in sheets.values()] == [False, True]
    views = Select(browser.find_element(By.CSS_SELECTOR, "#table-jobs [data-views]"))
    assert len(views.options) == 3
    for option, heads in (("projected · direct · pog", ["direct pog ≥", "direct pog ≤"]),
                          ("projected · local · fedavg", ["local fedavg ≥"])):  # fmt: skip
        views.select_by_visible_text(option)
        texts = [text.replace("\n", " ") for text in shown("#table-jobs thead tr:last-child th")]
        assert [text for text in texts if "≥" in text or "≤" in text] == heads
        columns = len(texts)
        assert len(shown("#table-jobs tbody tr:first-child td")) == columns


def cards(browser: webdriver.Chrome) -> list[str]:
    shown = browser.find_elements(By.CSS_SELECTOR, ".card:not([hidden])")
    return [card.find_element(By.CLASS_NAME, "proven").text for card in shown]


def choose(browser: webdriver.Chrome, selector: str, text: str) -> None:
    Select(browser.find_element(By.CSS_SELECTOR, f".gallery {selector}")).select_by_visible_text(text)


@pytest.mark.slow
def test_the_gallery_shows_any_claim_filters_and_sorts(
    browser: webdriver.Chrome, pages: dict[str, str]
) -> None:
    show(browser, pages["run"])
    assert cards(browser) == ["12.34 – 25.00 %", "99.99 – 100.00 %"]  # least proven first
    choose(browser, "[data-order]", "most proven first")
    assert cards(browser) == ["99.99 – 100.00 %", "12.34 – 25.00 %"]
    choose(browser, "[data-filter=attacked]", "succeeds")
    assert cards(browser) == ["12.34 – 25.00 %"]
    choose(browser, "[data-claim]", "local · fedavg · projected")
    assert cards(browser) == ["≥ 90.00 %"]
    bar = browser.find_element(By.CSS_SELECTOR, ".card:not([hidden]) .bar")
    share = bar.find_element(By.CLASS_NAME, "safe").size["width"] / bar.size["width"]
    assert share == pytest.approx(0.9, abs=0.01)
    choose(browser, "[data-filter=label]", "7")
    assert cards(browser) == []
    assert browser.find_element(By.CSS_SELECTOR, ".gallery output").text == "0 of 2"


@pytest.mark.slow
def test_a_printed_page_hides_nothing(browser: webdriver.Chrome, pages: dict[str, str]) -> None:
    show(browser, pages["run"])
    browser.execute_script("for (const part of document.querySelectorAll('details')) part.open = false;")
    browser.execute_cdp_cmd("Page.printToPDF", {})
    opened: Any = browser.execute_script(
        "return [...document.querySelectorAll('details')].map((part) => part.open)"
    )
    assert opened
    assert all(opened)
