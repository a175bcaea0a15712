"""The home page keeps the place of its first live piece, whatever is written there."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor


MOVED = """window.moved = 0; new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) moved += value;
}).observe({ type: "layout-shift" })"""
LONG = "She is reading a book and I do not know where Tom lives."
PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.mark.parametrize("edition", ["zh", "en"])
@pytest.mark.parametrize("options", [PHONE, {}])
def test_the_field_stays_where_it_is(
    visit: Visitor, edition: str, options: dict[str, object]
) -> None:
    visit.page.add_init_script(MOVED)
    page = visit.open(f"/{edition}/")
    field = page.locator(".hero input")
    expect(field).to_be_visible()
    field.scroll_into_view_if_needed()  # as filling it in does
    before = field.bounding_box()
    assert before
    field.fill(LONG)
    field.press("Enter")
    expect(page.locator(".hero .says b")).to_be_visible(timeout=60_000)
    after = field.bounding_box()
    assert after
    assert after["y"] == pytest.approx(before["y"], abs=1)
    assert page.evaluate("moved") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.emulate_media(media="print")  # the picture and its caption
    expect(page.locator(".hero .diagram")).to_be_visible()
    expect(page.locator(".hero figcaption")).to_be_visible()
    expect(page.locator(".hero .live").first).to_be_hidden()


def test_a_model_that_does_not_come_is_told(visit: Visitor) -> None:
    page = visit.page
    page.route("**/*.safetensors", lambda route: route.abort())
    visit.open("/zh/")
    page.locator(".hero button").click()
    expect(page.locator(".hero .says")).to_have_text(
        "没有成功。请检查网络，再按一次“翻译”。"
    )
    page.unroute("**/*.safetensors")
    page.locator(".hero button").click()
    expect(page.locator(".hero .says b")).to_be_visible(timeout=60_000)
    visit.faults.clear()
