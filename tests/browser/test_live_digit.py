"""Draw digits in a real browser: by mouse, by finger, by keyboard, by example."""

import base64
import io
import re

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from attention_book.generation.classifier import Classifier
from tests.browser.conftest import Visitor
from tests.browser.test_site import (
    COLOURS,
    NARROWEST,
    OTHERS,
    PHONE,
    fits,
    violations,
)


DIGIT = "/en/live/digit/"
LOADS = 60_000  # ms: the model, and a worker that starts
Point = tuple[float, float]
WRITTEN = {  # strokes through points of a square of 100, each as four figures
    0: "5015 3424 2848 3472 5082 6674 7250 6624 5015",
    1: "5214 5140 5062 4986",
    2: "3030 3818 5616 6628 6044 3280 7280",
    3: "3218 6618 4642 6250 6666 5482 3278",
    4: "4014 2856 7656, 6034 5886",
    5: "3816 3544 5442 6756 6276 4484 3076, 3816 6815",
    6: "5812 4036 3362 4482 6276 6260 4854 3466",
    7: "2620 7220 5650 4486, 4052 6652",
    8: "5048 3434 4218 6018 6632 5048 3464 3882 6084 6868 5048",
    9: "6628 5216 3626 3844 5648 6630 6556 5888",
}
SCRIBBLE = "1010 9090, 9010 1090, 1050 9050"


def points(stroke: str) -> list[Point]:
    return [(int(point[:2]), int(point[2:])) for point in stroke.split()]


def draw(page: Page, drawing: str) -> None:
    """With the mouse, as a hand moves it."""
    paper = page.locator(".digit .paper")
    paper.scroll_into_view_if_needed()
    box = paper.bounding_box()
    assert box
    for stroke in drawing.split(", "):
        for n, (u, v) in enumerate(points(stroke)):
            x = box["x"] + u * box["width"] / 100
            y = box["y"] + v * box["height"] / 100
            page.mouse.move(x, y, steps=2)
            if not n:
                page.mouse.down()
        page.mouse.up()


def answer(page: Page) -> str:
    """What is recognised, once it is."""
    found = page.locator(".digit .result b")
    expect(found).to_be_visible(timeout=LOADS)
    return found.inner_text()


def probabilities(page: Page) -> list[float]:
    numbers = page.locator(".digit .bars .number").all_inner_texts()
    return [float(number.removesuffix("%")) for number in numbers]


def clear(page: Page) -> None:
    page.locator(".digit button", has_text=re.compile("Clear|清空")).click()
    expect(page.locator(".digit .result")).to_contain_text(
        re.compile("Draw a digit|写一个数字")
    )


def has_ink(page: Page) -> bool:
    ink = """canvas => canvas.getContext("2d")
      .getImageData(0, 0, canvas.width, canvas.height).data.some(x => x)"""
    return bool(page.locator(".paper canvas").evaluate(ink))


def test_digits_drawn_by_mouse_are_recognised_as_by_the_package(
    visit: Visitor,
) -> None:
    """The same answer as for the drawing saved as a file."""
    page = visit.open(DIGIT)
    classifier = Classifier.load()
    for digit, drawing in WRITTEN.items():
        draw(page, drawing)
        assert answer(page) == str(digit)
        url = page.locator(".paper canvas").evaluate("c => c.toDataURL()")
        file = io.BytesIO(base64.b64decode(url.partition(",")[2]))
        wanted = dict(classifier.classify(Image.open(file)))
        found = probabilities(page)
        assert found == pytest.approx(
            [100 * wanted[label] for label in classifier.labels], abs=0.06
        )
        clear(page)
        assert not has_ink(page)


def test_the_model_is_fetched_when_it_is_asked_for(visit: Visitor) -> None:
    asked: list[str] = []
    page = visit.page
    page.on("request", lambda request: asked.append(request.url))
    visit.open(DIGIT)
    result = page.locator(".digit .result")
    expect(result).to_contain_text("Draw a digit")
    page.wait_for_timeout(300)
    assert not any("safetensors" in url for url in asked)
    says = "window.said = []; new MutationObserver(() => said.push(e.textContent))"
    result.evaluate(f"e => {{ {says}.observe(e, {{ childList: true }}) }}")
    draw(page, WRITTEN[7])
    answer(page)
    assert page.evaluate("said[0]").startswith("Fetching the model")
    assert sum("safetensors" in url for url in asked) == 1


@pytest.mark.parametrize("edition", ["en", "zh"])
def test_examples_are_sure_and_a_scribble_is_not(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/live/digit/")
    doubt = {"en": "not sure of this one", "zh": "没有把握"}[edition]
    result = page.locator(".digit .result")
    for digit in range(10):
        page.get_by_role("button", name=str(digit), exact=True).click()
        expect(result.locator("b")).to_have_text(str(digit), timeout=LOADS)
        expect(result).not_to_contain_text(doubt)
    clear(page)
    draw(page, SCRIBBLE)
    answer(page)
    expect(result).to_contain_text(doubt)
    expect(result).to_contain_text("99.6%")


def test_a_digit_is_drawn_by_keyboard_alone(visit: Visitor) -> None:
    page = visit.open(DIGIT)
    paper = page.locator(".digit .paper")
    expect(paper).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    for _ in range(60):  # to the paper
        page.keyboard.press("Tab")
        if paper.evaluate("e => e === document.activeElement"):
            break
    expect(paper).to_be_focused()
    expect(page.locator(".digit .cursor")).to_be_visible()
    before = page.evaluate("scrollY")
    page.keyboard.press("Space")
    expect(page.locator(".digit .draw [role=status]")).to_have_text("pen down")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    for n in range(16):
        page.keyboard.press("ArrowDown")
        if n % 3 == 2:
            page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    assert answer(page) == "7"
    assert page.evaluate("scrollY") == before
    page.keyboard.press("Delete")
    expect(page.locator(".digit .result")).to_contain_text("Draw a digit")
    assert not has_ink(page)


@pytest.mark.parametrize("options", [PHONE | {"has_touch": True}])
def test_a_digit_is_drawn_by_finger(
    visit: Visitor, options: dict[str, object]
) -> None:
    """And the page stays where it is, though it scrolls elsewhere."""
    page = visit.open("/zh/live/digit/")
    paper = page.locator(".digit .paper")
    paper.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")
    box = paper.bounding_box()
    assert box
    touch = page.context.new_cdp_session(page)

    def send(kind: str, *points: Point) -> None:
        places = [
            {
                "x": box["x"] + u * box["width"] / 100,
                "y": box["y"] + v * box["height"] / 100,
            }
            for u, v in points
        ]
        touch.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": places}
        )

    first, *rest = points(WRITTEN[2])
    send("touchStart", first)
    for point in rest:
        send("touchMove", point)
    send("touchEnd")
    assert answer(page) == "2"
    assert page.evaluate("scrollY") == before
    fits(page)


def test_rollout_lies_over_the_drawing_and_can_be_put_away(
    visit: Visitor,
) -> None:
    page = visit.open(DIGIT)
    draw(page, WRITTEN[4])
    answer(page)
    look = page.locator(".digit .seen svg")
    for squares in (page.locator(".paper rect"), look.locator("rect")):
        expect(squares).to_have_count(49)
    expect(look).to_have_accessible_name(
        re.compile(r"rollout gives most to the patch in row \d, column \d")
    )
    shown = page.locator(".digit input[type=checkbox]")
    shown.uncheck()
    expect(page.locator(".digit rect")).to_have_count(0)
    expect(look).to_have_accessible_name("The image that the model sees")
    shown.check()
    expect(page.locator(".digit rect")).to_have_count(98)
    page.mouse.move(0, 0)
    first = look.get_attribute("aria-label")
    draw(page, "2020 3080")  # another drawing, another map
    answer(page)
    assert look.get_attribute("aria-label") != first


@pytest.mark.parametrize("edition", ["en", "zh"])
def test_the_piece_is_accessible_with_an_answer(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/live/digit/")
    page.get_by_role("button", name="8", exact=True).click()
    assert answer(page) == "8"
    page.add_style_tag(content="* { transition: none !important }")
    for scheme in ("default", "slate"):
        page.evaluate(f"document.body.dataset.mdColorScheme = '{scheme}'")
        assert violations(page, {"runOnly": COLOURS}, ".digit") == []
    assert violations(page, OTHERS) == []
    page.set_viewport_size(NARROWEST)
    fits(page)
    assert violations(page, OTHERS) == []


@pytest.mark.parametrize(
    ("edition", "lost", "told"),
    [
        ("en", "*.safetensors", "It did not work. Please check the network"),
        ("zh", "digit_worker.js", "没有成功。请检查网络，再写一笔。"),
    ],
)
def test_what_does_not_come_is_told(
    visit: Visitor, edition: str, lost: str, told: str
) -> None:
    page = visit.page
    page.route(f"**/{lost}", lambda route: route.abort())
    visit.open(f"/{edition}/live/digit/")
    draw(page, WRITTEN[7])
    result = page.locator(".digit .result")
    expect(result).to_have_text(re.compile(f"^{told}[^|]*$"), timeout=LOADS)
    page.unroute(f"**/{lost}")
    draw(page, WRITTEN[7])  # the next stroke asks again
    assert answer(page) == "7"
    visit.faults.clear()
