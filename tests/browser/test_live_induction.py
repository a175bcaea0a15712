"""A reader trains the two-layer model in the page, and silences its heads."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from literate.chapter import ROOT
from tests.browser.conftest import Visitor


RECORD = json.loads(
    (ROOT / "experiments/records/interpret-induction.json").read_text("utf-8")
)
SURE = 0.95  # the accuracy whose step the record notes
PATIENCE = 240_000  # milliseconds; 30,000 on a quiet machine
NOT_TRAINED = "Not trained yet."
PHONE = {"viewport": {"width": 390, "height": 844}}
STILL = {"reduced_motion": "reduce"}


def meet(visit: Visitor, seed: int | None = None) -> Page:
    """The page, with its model ready."""
    hash_ = "" if seed is None else f"#seed={seed}"
    page = visit.open(f"/en/live/induction/{hash_}")
    page.locator(".is-live, .live").first.scroll_into_view_if_needed()
    page.locator("figure:has(+ .live)").evaluate_all(
        "figures => figures.forEach(figure => figure.scrollIntoView())"
    )
    expect(page.get_by_role("status")).to_have_text(
        NOT_TRAINED, timeout=30_000
    )
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def step(page: Page) -> int:
    counter = page.locator(".induction .counter").inner_text()
    found = re.fullmatch(r"step (\d+) of 400", counter)
    assert found
    return int(found[1])


def score(page: Page, name: str) -> float:
    """The last value of a curve."""
    text = page.locator(".legend", has_text=name).inner_text()
    return float(text.removeprefix(name).strip().rstrip("%")) / 100


def accuracies(page: Page) -> list[float]:
    """With all heads and, where some are silent, without them."""
    text = page.locator(".effect").inner_text()
    return [float(x) / 100 for x in re.findall(r"(\d+\.\d)%", text)]


def silence(page: Page, layer: int, head: int) -> list[float]:
    """Press the button, and wait until what is said has changed."""
    effect = page.locator(".effect")
    before = effect.inner_text()
    press(page, f"Silence Layer {layer}, head {head}")
    expect(effect).not_to_have_text(before, timeout=30_000)
    return accuracies(page)


def weight_of(page: Page, layer: int, head: int) -> float:
    """Of the cell chosen at the start, where an induction head looks."""
    picture = page.get_by_role("img", name=f"Layer {layer}, head {head}")
    label = picture.get_attribute("aria-label")
    assert label
    return float(label.split(": ")[-1])


def test_an_induction_head_forms(visit: Visitor) -> None:
    """It reaches the record's accuracy, and needs what the record says."""
    page = meet(visit)
    assert score(page, "accuracy") < 0.2
    page.get_by_label("Seed").fill("3")
    page.get_by_label("Seed").press("Enter")
    expect(page).to_have_url(re.compile("#seed=3$"))
    expect(page.get_by_role("status")).to_have_text(NOT_TRAINED)
    press(page, "Start")
    status = page.get_by_role("status")
    expect(status).to_contain_text("It has learnt", timeout=PATIENCE)
    assert score(page, "accuracy") >= SURE
    assert step(page) < 1.5 * max(RECORD["results"]["steps"])
    assert score(page, "prefix matching, layer 2") > 0.8
    assert score(page, "one before, layer 1") > 0.2

    with_all, without_both = silence(page, 2, 1), silence(page, 2, 2)
    assert without_both[0] == with_all[0] >= SURE
    assert without_both[1] < 0.1  # as in the record, below 5 % there
    silence(page, 2, 1)
    silence(page, 2, 2)
    looks = max(weight_of(page, 2, head) for head in (1, 2))
    assert looks > 0.5
    silence(page, 1, 1)
    _, without_first = silence(page, 1, 2)
    assert without_first < 0.6
    assert max(weight_of(page, 2, head) for head in (1, 2)) < looks - 0.2


def test_a_pause_stops_at_once(visit: Visitor) -> None:
    page = meet(visit, 1)
    press(page, "Start")
    page.wait_for_function(
        "parseInt(document.querySelector('.counter').textContent.slice(5)) > 3",
        timeout=30_000,
    )
    press(page, "Pause")
    status = page.get_by_role("status")
    expect(status).to_contain_text("Paused at step", timeout=30_000)
    at = step(page)
    page.wait_for_timeout(1500)
    assert step(page) == at
    press(page, "Go on")
    page.wait_for_function(
        "at => parseInt(document.querySelector('.counter').textContent.slice(5)) > at",
        arg=at,
        timeout=30_000,
    )
    press(page, "Silence Layer 2, head 1")
    silent = page.locator(".silent > [aria-pressed=true]")
    expect(silent).to_have_count(1)
    press(page, "Reset")
    expect(status).to_have_text(NOT_TRAINED, timeout=30_000)
    assert step(page) == 0
    assert curve(page) == []
    expect(silent).to_have_count(0)
    assert len(accuracies(page)) == 1  # of the whole model


def test_a_worker_that_does_not_come_is_told(visit: Visitor) -> None:
    page = visit.page
    page.route("**/repeats.js", lambda route: route.abort())
    visit.open("/zh/live/induction/")
    status = page.locator(".induction .status")
    expect(status).to_have_text("没有成功。请检查网络，再按“重来”。")
    page.unroute("**/repeats.js")
    press(page, "重来")
    expect(status).to_have_text("还没有训练。", timeout=30_000)
    expect(page.get_by_role("button", name="开始")).to_be_enabled()
    visit.faults.clear()


@pytest.mark.parametrize("options", [PHONE, {}])
def test_nothing_moves_when_it_starts(
    visit: Visitor, options: dict[str, object]
) -> None:
    visit.page.add_init_script(
        """window.moved = 0; new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) moved += value;
        }).observe({ type: "layout-shift" })"""
    )
    page = meet(visit)
    assert page.evaluate("moved") == 0


def curve(page: Page) -> list[str]:
    """The points of the loss."""
    line = page.get_by_role("img", name="the loss").locator("polyline")
    return (line.get_attribute("points") or "").split()


def loss_after(page: Page, n: int) -> list[str]:
    """The first n points of its curve."""
    press(page, "Start")
    for _ in range(600):
        found = curve(page)
        if len(found) >= n:
            break
        page.wait_for_timeout(100)
    press(page, "Pause")
    return found[:n]


def test_a_link_with_the_seed_shows_the_same_training(visit: Visitor) -> None:
    page = meet(visit, 7)
    expect(page.get_by_label("Seed")).to_have_value("7")
    first = loss_after(page, 4)
    press(page, "Copy link")
    expect(page.get_by_role("status")).to_contain_text("Link copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.endswith("/en/live/induction/#seed=7")
    page.goto("about:blank")
    page = meet(visit, 7)
    assert loss_after(page, 4) == first
    page.evaluate("location.hash = '#seed=8'")
    expect(page.get_by_role("status")).to_have_text(
        NOT_TRAINED, timeout=30_000
    )
    expect(page.get_by_label("Seed")).to_have_value("8")
    assert loss_after(page, 4) != first


@pytest.mark.parametrize("options", [PHONE | STILL])
def test_it_can_be_read_by_keyboard_on_a_phone(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = meet(visit)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    meaning = page.locator(".meaning")
    expect(meaning).to_contain_text("an induction head looks here")
    page.get_by_label("key at").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    expect(meaning).to_contain_text("a previous-token head looks here")
    page.keyboard.press("End")
    expect(meaning).to_contain_text("hidden")
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("status")).to_contain_text(
        "Paused", timeout=30_000
    )
