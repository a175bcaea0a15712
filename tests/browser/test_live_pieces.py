"""The pieces inside chapters that move: in their figures' places, by keyboard, and right."""

import math
import runpy
from itertools import pairwise

import pytest
import torch
from playwright.sync_api import Locator, Page, ViewportSize, expect

from attention_book import (
    SinusoidalPositions,
    beam_search,
    causal_mask,
    exact_search,
    load_model,
    masked_softmax,
)
from attention_book.data.batches import pad
from corpora.learner import LEARNER
from literate import ROOT
from tests.browser.conftest import WIDE, Visitor
from tests.browser.test_site import OTHERS, fits, violations


PIECES = {
    "pooling": "attention/pooling/",
    "temperature": "attention/scoring/",
    "mask": "attention/scoring/",
    "clocks": "attention/positions/",
    "beam": "transformer/beam-search/",
    "tiles": "fast/flash/",
    "cache": "fast/cache/",
}
CHAPTERS = tuple(dict.fromkeys(PIECES.values()))
EDITIONS = ("zh", "en")
PHONE: ViewportSize = {"width": 390, "height": 844}
NARROW: ViewportSize = {"width": 360, "height": 780}
JERRY = "Because Jerry hides a strange bridge every year, we will sell a pretty stone."

each_edition = pytest.mark.parametrize("edition", EDITIONS)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)

# Controls and drawings that leave the window.
STICKS_OUT = """(figure, width) => [...figure.querySelectorAll(
    ".live :is(svg, svg text, table, input, button)")]
  .filter((it) => {
    const {left, right} = it.getBoundingClientRect();
    return left < 0 || right > width;
  }).map((it) => it.outerHTML)"""
# Words of a drawing that are small, or lie on others, wherever its sliders are.
CROWDED = """(figure) => {
  const sliders = [...figure.querySelectorAll("input[type=range]")];
  const found = [];
  const look = () => {
    for (const svg of figure.querySelectorAll(".live > svg")) {
      const words = [...svg.querySelectorAll("text")];
      const boxes = words.map((word) => word.getBoundingClientRect());
      const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
      words.forEach((word, i) => {
        const size = scale * parseFloat(getComputedStyle(word).fontSize);
        if (size < 10.8) found.push(`${word.textContent}: ${size} px`);
        for (let j = 0; j < i; j++) {
          const [a, b] = [boxes[i], boxes[j]];
          const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (x > 0.5 && y > 2.5) found.push(`${word.textContent} on ${words[j].textContent}`);
        }
      });
    }
  };
  const set = (slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input"));
  };
  look();
  for (const slider of sliders) {
    const {value, min, max} = slider;
    for (let at = 0; at <= 25; at++) {
      set(slider, Number(min) + at / 25 * (max - min));
      look();
    }
    set(slider, value);
  }
  return [...new Set(found)];
}"""
ANIMATIONS = "it => it.getAnimations({subtree: true}).length"
# Drag a slider through all it can be; what is read out until then.
DRAG = """(figure) => {
  const [slider] = figure.querySelectorAll("input[type=range]");
  const heard = figure.querySelector("[aria-live]");
  let times = 0;
  new MutationObserver(() => { figure.dataset.told = ++times })
    .observe(heard, {childList: true});
  for (let at = 0; at <= 20; at++) {
    slider.value = Number(slider.min) + at / 20 * (slider.max - slider.min);
    slider.dispatchEvent(new Event("input"));
  }
  return heard.textContent;
}"""
# Nothing is left of the page but the pieces and what they lie in.
ALONE = """() => {
  const keep = [...document.querySelectorAll("figure.is-live:has(.live)")];
  for (const it of document.body.querySelectorAll("*")) {
    if (it.isConnected && !keep.some((one) => it.contains(one) || one.contains(it))) it.remove();
  }
}"""


def pieces(chapter: str) -> list[str]:
    return [name for name, where in PIECES.items() if where == chapter]


def settled(page: Page, name: str) -> Locator:
    """The figure in which a piece has settled."""
    place = page.locator(f'[data-live="{name}"]')
    place.evaluate(
        "it => (it.previousElementSibling ?? it).scrollIntoView({block: 'center'})"
    )
    figure = page.locator(f'figure.is-live:has([data-live="{name}"])')
    expect(figure).to_have_count(1)
    return figure


def open_piece(visit: Visitor, edition: str, name: str) -> Locator:
    return settled(visit.open(f"/{edition}/{PIECES[name]}"), name)


def picture(figure: Locator) -> Locator:
    return figure.locator(":scope > :first-child")


def slide(figure: Locator, label: str, to: float, step: float = 1) -> None:
    """Move a slider with the arrow keys."""
    slider = figure.get_by_label(label, exact=True)
    slider.focus()
    steps = round((to - float(slider.input_value())) / step)
    for _ in range(abs(steps)):
        slider.press("ArrowRight" if steps > 0 else "ArrowLeft")
    assert math.isclose(float(slider.input_value()), to)


def said(figure: Locator) -> str:
    """What a piece says in words by now."""
    return figure.locator(".words > [aria-hidden]").inner_text()


def drawn(figure: Locator) -> list[str]:
    """The words of a piece's drawing."""
    return figure.locator(".live svg text").all_text_contents()


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@each_edition
@each_chapter
def test_takes_the_place_of_its_figure(
    tour: Visitor, edition: str, chapter: str
) -> None:
    page = tour.open(f"/{edition}/{chapter}")
    figures = [settled(page, name) for name in pieces(chapter)]
    for figure in figures:
        expect(picture(figure)).to_be_hidden()
        expect(figure.locator(".live")).to_be_visible()
        expect(figure.locator("figcaption")).to_be_visible()
    page.emulate_media(media="print")
    for figure in figures:
        expect(picture(figure)).to_be_visible()
        expect(figure.locator(".live")).to_be_hidden()
    page.emulate_media(media="screen")
    if edition == "en":
        for figure in figures:
            every_control_is_reached_by_tab(figure)
            a_drag_is_told_once(figure)
    fits_and_is_accessible(page, figures)


def fits_and_is_accessible(page: Page, figures: list[Locator]) -> None:
    for size in (WIDE, PHONE, NARROW):
        page.set_viewport_size(size)
        fits(page)
        for figure in figures:
            assert figure.evaluate(STICKS_OUT, size["width"]) == []
    page.evaluate(ALONE)  # each look at a whole chapter takes seconds
    for figure in figures:  # at the narrowest; a drawing only grows
        assert figure.evaluate(CROWDED) == []
    within = {"include": [["figure.is-live:has(.live)"]]}
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        assert violations(page, {**OTHERS}, within) == []
    for scheme in ("default", "slate"):
        page.evaluate(
            "scheme => { document.body.dataset.mdColorScheme = scheme }",
            scheme,
        )
        assert violations(page, {"runOnly": ["color-contrast"]}, within) == []


def every_control_is_reached_by_tab(figure: Locator) -> None:
    controls = figure.locator(
        ":is(button, input):not([tabindex='-1'], :disabled)"
    )
    controls.first.focus()
    for before, control in pairwise(controls.all()):
        expect(before).to_be_focused()
        figure.page.keyboard.press("Tab")
        expect(control).to_be_focused()
        expect(control).to_have_css("outline-width", "2px")
        expect(control).not_to_have_css("outline-style", "none")


def a_drag_is_told_once(figure: Locator) -> None:
    """What a slider changes is seen at once, and read out when it rests."""
    if not figure.locator("input[type=range]").count():
        return
    seen, heard = said(figure), figure.locator("[aria-live=polite]")
    before = heard.text_content()
    assert figure.evaluate(DRAG) == before
    assert said(figure) != seen
    expect(figure).to_have_attribute("data-told", "1")
    expect(heard).to_have_text(
        figure.locator(".words > [aria-hidden]").text_content() or ""
    )


@each_edition
@pytest.mark.parametrize(
    "options", [{"java_script_enabled": False}], ids=["no script"]
)
def test_without_script_the_picture_stays(
    visit: Visitor, edition: str, options: object
) -> None:
    for chapter in CHAPTERS:
        visit.open(f"/{edition}/{chapter}")
        for name in pieces(chapter):
            place = visit.page.locator(f'[data-live="{name}"]')
            expect(place).to_be_hidden()
            expect(
                place.locator("xpath=preceding-sibling::figure[1]/*[1]")
            ).to_be_visible()


@pytest.mark.parametrize(
    "options", [{"reduced_motion": "reduce"}], ids=["still"]
)
def test_nothing_moves_by_itself_for_those_who_ask(
    visit: Visitor, options: object
) -> None:
    for chapter in CHAPTERS:
        visit.open(f"/en/{chapter}")
        for name in pieces(chapter):
            figure = settled(visit.page, name)
            expect(figure.get_by_role("button", name="play")).to_have_count(0)
            assert figure.evaluate(ANIMATIONS) == 0


@each_edition
def test_query_is_moved_and_dragged(tour: Visitor, edition: str) -> None:
    figure = open_piece(tour, edition, "pooling")
    label = {"zh": "拖动查询", "en": "Drag the query"}[edition]
    x = torch.arange(6.0)
    y = torch.tensor([0.1, 0.9, 0.8, 0.2, -0.7, -1.0])

    def agrees(query: float) -> None:
        weights = (-((query - x) ** 2) / 2).softmax(0)
        texts = drawn(figure)
        assert all(f"{weight:.3f}" in texts for weight in weights.tolist())
        assert f"{weights @ y:.3f}".replace("-", "−") in said(figure)

    agrees(2.2)
    for query in (2.5, 5.0, 0.0):
        slide(figure, label, query, step=0.1)
        agrees(query)
    box = figure.locator(".live svg").bounding_box()
    assert box is not None
    tour.page.mouse.move(box["x"] + 5, box["y"] + 50)
    tour.page.mouse.down()
    tour.page.mouse.move(box["x"] + box["width"] * 180 / 380, box["y"] + 60)
    tour.page.mouse.up()
    agrees(2.0)


@each_edition
def test_wide_scores_are_scaled_and_tempered(
    tour: Visitor, edition: str
) -> None:
    figure = open_piece(tour, edition, "temperature")
    zh = edition == "zh"
    scores = runpy.run_path(str(ROOT / "docs/diagrams/score_widths.py"))[
        "scores"
    ]
    box = figure.get_by_label("除以 √d" if zh else "divide by √d")
    for log_d, log_t, scaled in (
        (6, 0, False),
        (6, 0, True),
        (2, -1, True),
        (10, 5, False),
    ):
        slide(figure, "宽度 d" if zh else "width d", log_d)
        slide(figure, "温度 τ" if zh else "temperature τ", log_t, step=0.5)
        if box.is_checked() != scaled:
            box.press("Space")
        row = torch.tensor(scores(2**log_d), dtype=torch.double)
        row /= math.sqrt(2**log_d) if scaled else 1
        weights = (row / 2**log_t).softmax(0)
        entropy = -torch.special.xlogy(weights, weights).sum()
        assert f"{weights.max():.3f}" in said(figure)
        assert f"{entropy:.2f}" in said(figure)
        assert [
            number(text) for text in drawn(figure)[:16:2]
        ] == pytest.approx(weights.tolist(), abs=6e-4)
    before = drawn(figure)
    figure.get_by_role("button").press("Enter")
    assert drawn(figure) != before


@each_edition
def test_what_is_masked_weighs_nothing(tour: Visitor, edition: str) -> None:
    figure = open_piece(tour, edition, "mask")
    page = tour.page
    keys = torch.zeros(6, 4)
    keys[(0, 2), (0, 0)] = 1
    keys[1, 1] = keys[5, 3] = 1
    keys[2:, 2] = 1
    scores = (2 * keys) @ (2 * keys).T / 2
    mask = causal_mask(6)

    def agree() -> None:
        texts = (
            figure.locator("table").nth(1).locator("td span").all_inner_texts()
        )
        want = masked_softmax(scores, mask).flatten().tolist()
        for text, weight in zip(texts, want, strict=True):
            assert float(text.replace("<.01", ".001")) == pytest.approx(
                weight, abs=6e-3
            )
            assert (text == "0") == (weight == 0)

    agree()
    cells = figure.get_by_role("grid").get_by_role("button")
    assert [
        float(text) for text in cells.all_inner_texts()
    ] == scores.flatten().tolist()
    cells.nth(1).focus()
    page.keyboard.press("Space")  # Tom may see chases
    mask[0, 1] = True
    agree()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")  # chases may not see Tom
    expect(cells.nth(6)).to_be_focused()
    expect(cells.nth(6)).to_have_attribute("aria-pressed", "true")
    mask[1, 0] = False
    agree()
    presets = figure.locator(".row button")
    presets.nth(1).press("Enter")
    mask = (torch.arange(6) < 4).expand(6, 6).clone()
    agree()
    presets.nth(2).press("Enter")  # a row that sees nothing is all zeros
    mask = (torch.arange(6) < 5)[:, None].expand(6, 6).clone()
    agree()
    assert ("什么也看不到" if edition == "zh" else "sees nothing") in said(
        figure
    )


@each_edition
def test_clocks_agree_with_the_encoding(tour: Visitor, edition: str) -> None:
    figure = open_piece(tour, edition, "clocks")
    labels = (
        ("一个位置", "另一个位置")
        if edition == "zh"
        else ("one position", "the other")
    )
    encoding = SinusoidalPositions(8)(torch.zeros(101, 8))

    def agrees(first: int, second: int) -> None:
        product = f"{encoding[first] @ encoding[second]:.3f}".replace("-", "−")
        assert product in said(figure)
        assert f"= {product}" in drawn(figure)
        shown = [
            text.split()
            for text in drawn(figure)
            if text.startswith(("sin", "cos"))
        ]
        sines = torch.tensor([number(value) for _, value in shown]).view(
            4, 2, 2
        )
        for column, position in enumerate((first, second)):
            want = encoding[position].view(4, 2)
            assert torch.allclose(sines[:, column], want, atol=6e-3)

    agrees(3, 10)
    slide(figure, labels[0], 0)
    slide(figure, labels[1], 21)
    agrees(0, 21)
    before = said(figure)
    for _ in range(4):
        figure.get_by_role("button").nth(1).press("Enter")
    agrees(4, 25)
    assert said(figure) == before  # as far apart, the same dot product


def test_beam_finds_what_the_package_finds(tour: Visitor) -> None:
    figure = open_piece(tour, "en", "beam")
    model, (english, chinese), _ = load_model(LEARNER[250])
    source = english.encode(JERRY)
    best, _ = exact_search(model, source, max_length=40)
    assert best is not None
    for k in (2, 1, 2, 3, 4):
        slide(figure, "beam size k", k)
        (found,) = beam_search(
            model,
            *pad([source]),
            beam_size=k,
            max_length=40,
            length_penalty=0.0,
        )
        lines = said(figure).split("\n\n")
        for line, translation in zip(lines, (found, best), strict=True):
            p, log_prob = math.exp(translation.log_prob), translation.log_prob
            assert f" {p:.4f}, log-probability −{-log_prob:.2f}" in line
            assert chinese.decode(translation).endswith(line.split("……")[1])


@each_edition
def test_tiles_end_at_the_softmax_of_whole_rows(
    tour: Visitor, edition: str
) -> None:
    figure = open_piece(tour, edition, "tiles")
    row = torch.tensor([2.0, 1, 4, 3, 0, 5])
    scores = torch.stack([row.roll(i) for i in range(6)])
    values = torch.arange(1.0, 7)
    causal = figure.get_by_role("checkbox")
    back, following, play = figure.get_by_role("button").all()
    for is_causal, n_steps in ((True, 6), (False, 9)):
        if causal.is_checked() != is_causal:
            causal.press("Space")
        expect(back).to_be_disabled()
        for step in range(1, n_steps + 1):
            assert f"{step}/{n_steps}" in said(figure)
            if (step, is_causal) == (
                3,
                False,
            ):  # as the chapter prints for the first query
                assert {"5", "1.578", "7.765", "4.921"} <= set(drawn(figure))
            if step < n_steps:
                following.press("Enter")
        expect(following).to_be_disabled()
        weights = masked_softmax(scores, causal_mask(6) if is_causal else None)
        written = figure.locator(".live svg text.bold").all_text_contents()
        assert [float(text) for text in written] == pytest.approx(
            (weights @ values).tolist(), abs=6e-4
        )
        back.press("Enter")
        assert f"{n_steps - 1}/{n_steps}" in said(figure)
    play.press("Enter")
    expect(following).to_be_disabled(timeout=5000)  # it walks on by itself


@each_edition
def test_cache_counts_what_is_computed(tour: Visitor, edition: str) -> None:
    figure = open_piece(tour, edition, "cache")
    zh = edition == "zh"
    cached = figure.get_by_role("checkbox")
    for step in (1, 4, 6):
        slide(figure, "第几步" if zh else "step", step)
        all_again = step * (step + 1) // 2
        texts = drawn(figure)
        for n in (16, 8, 4, 6):  # numbers a token, of each kind
            assert f"{n * step} {'个数' if zh else 'numbers'}" in texts
        for counts in (
            (1, step - 1, step, all_again),
            (step, 0, all_again, step),
        ):
            digits = "".join(
                c if c.isdigit() else " " for c in said(figure)
            ).split()
            assert tuple(map(int, digits)) == counts
            cached.press("Space")
