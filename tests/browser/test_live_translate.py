"""The page that translates as one types: what it says is what the package says.

The model is fetched only when it is asked for, and what is broken by hand
changes the translation as the same change does in the package.
"""

import json
import re
import statistics
from collections.abc import Callable
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import Page, expect

from attention_book import Translator, without_heads
from attention_book.generation.alignment import cross_weights
from attention_book.interpret.heads import list_heads
from attention_book.tokenizers.special_tokens import BOS
from corpora.exam import read_exam
from literate.records import load
from tests.browser.conftest import Visitor
from tests.browser.test_site import COLOURS, OTHERS, PHONE, violations


SENTENCES = [
    "I don't know where Tom lives.",
    "My brother bought 3 books yesterday.",
    "她每天早上喝一杯咖啡。",
    "你为什么不早点告诉我？",
    "Xqzvtl is a strange name.",
]
CROSS = "decoder.layers.1.cross_attention"


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load()


def open_page(visit: Visitor, edition: str = "en", **asks: object) -> Page:
    """The page, with the model fetched and a first sentence translated."""
    link = f"#{quote(json.dumps(asks))}" if asks else ""
    page = visit.open(f"/{edition}/live/translate/{link}")
    if not asks:
        page.locator(".live .ask button").click()
    expect(page.locator(".live .result")).not_to_be_empty(timeout=60_000)
    return page


def ask(page: Page, text: str) -> None:
    """Type a sentence, and wait for the answer to all of it."""
    page.locator(".live .ask input").fill(text)
    settled(page)


def settled(page: Page) -> None:
    """Wait until no question is on its way."""
    page.wait_for_function(
        "document.querySelector('.live').getAttribute('aria-busy') === 'false'"
    )


def result(page: Page) -> str:
    return page.locator(".live .result").inner_text()


def doubt(page: Page) -> str:
    return page.locator(".live .doubt").inner_text()


def test_nothing_is_fetched_until_it_is_asked_for(visit: Visitor) -> None:
    fetched: list[str] = []
    visit.page.on("request", lambda request: fetched.append(request.url))
    for path in ("/en/", "/en/live/translate/"):
        page = visit.open(path)
        expect(page.locator(".live input").first).to_be_visible()
        page.wait_for_timeout(300)
        assert not [url for url in fetched if "safetensors" in url]
    page.locator(".live .ask button").click()
    expect(page.locator(".live .result")).not_to_be_empty(timeout=60_000)
    assert [url for url in fetched if url.endswith("everyday.safetensors")]


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_what_is_typed_is_translated_as_the_package_does(
    visit: Visitor, edition: str, translator: Translator
) -> None:
    page = open_page(visit, edition)
    expected = translator.translate_with_confidence(SENTENCES)
    for sentence, found in zip(SENTENCES, expected, strict=True):
        ask(page, sentence)
        assert result(page) == found.text
        said = doubt(page)
        if found.lost:
            assert found.lost[0] in said
        else:
            assert f"{found.confidence:.0%}" in said
        unsure = {"zh": "没有把握", "en": "not sure"}[edition]
        assert (unsure in said) == (not found.is_sure)


def test_beams_find_what_the_package_finds(
    visit: Visitor, translator: Translator
) -> None:
    page = open_page(visit)
    ask(page, SENTENCES[3])
    page.locator(".live select").select_option("4")
    settled(page)
    (found,) = translator.translate([SENTENCES[3]], beam_size=4)
    assert result(page) == found
    assert page.locator(".live ol li").count() > 1


def changed(
    translator: Translator, change: Callable[[torch.nn.Module], object]
) -> Translator:
    """A translator whose model was changed."""
    other = Translator(
        translator.model,
        translator.source,
        translator.target,
        calibration=translator.calibration,
    )
    with torch.no_grad():
        change(other.model)
    return Translator(
        other.model,
        translator.source,
        translator.target,
        calibration=translator.calibration,
    )


def temper(model: torch.nn.Module, temperature: float) -> None:
    for name in list_heads(model):
        layer = model.get_submodule(name)
        for parameter in layer.q_proj.parameters():  # type: ignore[union-attr]
            parameter /= temperature


@pytest.mark.parametrize("sentence", SENTENCES[:4])
def test_what_is_broken_changes_as_in_the_package(
    visit: Visitor, translator: Translator, sentence: str
) -> None:
    page = open_page(visit, text=sentence, name=CROSS, head=2)
    (whole,) = translator.translate([sentence])
    assert result(page) == whole

    page.get_by_role("button", name="Silence this head").click()
    settled(page)
    broken = without_heads(translator.model, {CROSS: [2]})
    other = Translator(broken, translator.source, translator.target)
    assert result(page) == other.translate([sentence])[0]

    page.get_by_role("button", name="Mend everything").click()
    settled(page)
    assert result(page) == whole
    page.get_by_role("button", name="Silence all heads").click()
    settled(page)
    broken = without_heads(translator.model, {CROSS: [0, 1, 2, 3]})
    other = Translator(broken, translator.source, translator.target)
    assert result(page) == other.translate([sentence])[0]
    page.get_by_role("button", name="Mend everything").click()

    heat = page.get_by_label("Temperature of all attention")
    heat.fill("4")  # the fifth: 4
    settled(page)
    hot = changed(translator, lambda model: temper(model, 4))
    assert result(page) == hot.translate([sentence])[0]
    page.get_by_role("button", name="Mend everything").click()
    settled(page)

    page.get_by_label("No causal mask in the decoder").check()
    settled(page)
    assert result(page) == unmasked(translator, sentence)


@torch.no_grad()
def unmasked(translator: Translator, sentence: str) -> str:
    """A translation in which the tokens that are written see each other."""
    model, source = translator.model, translator.encode(sentence)
    memory, mask = model.encode(
        torch.tensor([source]), torch.tensor([len(source)])
    )
    written = [1]
    while len(written) <= 2 * len(source) + 16 and written[-1] != 2:
        x = model.target_embedding(torch.tensor([written]))
        for layer in model.decoder.layers:
            x = layer(x, memory, mask, is_causal=False)
        x = model.decoder.norm(x)[0, -1]
        written.append(
            int((x @ model.target_embedding.tokens.weight.T).argmax())
        )
    return translator.target.decode(written[1:])


def test_a_failed_fetch_is_told_and_tried_again(visit: Visitor) -> None:
    page = visit.open("/en/live/translate/")
    page.route("**/*.safetensors", lambda route: route.abort())
    button = page.locator(".live .ask button")
    button.click()
    status = page.locator(".live [role=status]")
    expect(status).to_contain_text("did not work")
    settled(page)
    visit.faults.clear()  # the browser's word on the request
    page.unroute("**/*.safetensors")
    button.click()
    expect(page.locator(".live .result")).not_to_be_empty(timeout=60_000)


def test_without_the_mask_rivals_are_those_of_the_step(visit: Visitor) -> None:
    """Greedy decoding took the most probable of what was known then."""
    page = open_page(visit, text=SENTENCES[0], isCausal=False)
    words = page.locator(".live .written button")
    for n in range(words.count()):
        words.nth(n).click()
        said = page.locator(".live .written + .says").inner_text()
        shares = [float(x) for x in re.findall(r"([\d.]+)%", said)]
        assert len(shares) == 5
        assert shares[0] == max(shares)
    page.locator(".live select").select_option("4")
    settled(page)
    unmasked_beams = page.locator(".live ol").inner_text()
    page.get_by_label("No causal mask in the decoder").uncheck()
    settled(page)
    assert page.locator(".live ol").inner_text() != unmasked_beams


def test_without_the_mask_a_step_has_weights_of_its_own(
    visit: Visitor,
) -> None:
    """Of what was written by then, and no more."""
    name = "decoder.layers.0.self_attention"
    page = open_page(visit, text=SENTENCES[0], isCausal=False, name=name)
    page.get_by_label("Tokens written").fill("3")
    cells = page.locator(".live table.weights tbody td").all_text_contents()
    weights = torch.tensor([float(x) for x in cells]).view(3, 3)
    assert torch.allclose(weights.sum(-1), torch.ones(3), atol=0.02)
    assert weights[0, 2] > 0
    expect(page.locator(".live")).to_contain_text("the weights of step 3:")


def test_a_link_that_makes_no_sense_asks_for_nothing(visit: Visitor) -> None:
    for asks in (None, {"text": 5}, [1], {"text": "Hi.", "head": 9}):
        page = visit.open(f"/en/live/translate/#{quote(json.dumps(asks))}")
        page.reload()
        expect(page.locator(".live .ask input")).to_be_visible()
    expect(page.locator(".live .result")).not_to_be_empty(timeout=60_000)


def test_the_last_token_of_the_source_stays(visit: Visitor) -> None:
    page = open_page(visit, text="I see.")
    tokens = page.locator(".live .source button")
    for n in range(tokens.count()):
        tokens.nth(n).click()
        settled(page)
    left = page.locator(".live .source [aria-pressed=false]")
    assert left.count() == 1
    page.get_by_role("button", name="Mend everything").click()
    settled(page)
    assert left.count() == tokens.count()


def test_a_token_is_left_out_and_put_back(
    visit: Visitor, translator: Translator
) -> None:
    page = open_page(visit, text="I have two black cats.")
    whole = result(page)
    source = translator.encode("I have two black cats.")
    token = page.locator(".live .source button", has_text="black")
    token.click()
    settled(page)
    place = page.locator(".live .source button").evaluate_all(
        "all => all.findIndex(b => b.getAttribute('aria-pressed') === 'true')"
    )
    rest = source[:place] + source[place + 1 :]
    (found,) = translator.generate([rest])
    assert result(page) == translator.target.decode(found) != whole
    token.click()
    settled(page)
    assert result(page) == whole


def test_measured_effects_stand_beside(visit: Visitor) -> None:
    page = open_page(visit, text=SENTENCES[0], name=CROSS, head=0)
    page.get_by_role("button", name="Silence this head").click()
    settled(page)
    measured = page.locator(".live .measured")
    expect(measured).to_contain_text("draws of 200 sentences")
    record = load("broken-translator")["results"]
    for way in ("en-zh", "zh-en"):
        arm, whole = (
            statistics.fmean(record[f"{name}: {way}, chrf"])
            for name in (f"{CROSS}.0", "nothing")
        )
        change = f"{arm - whole:+.1f}".replace("-", "−")
        expect(measured).to_contain_text(f"chrF {change}")


def test_weights_are_the_packages(
    visit: Visitor, translator: Translator
) -> None:
    sentence = SENTENCES[0]
    page = open_page(visit, text=sentence, name=CROSS, head=1)
    source = translator.encode(sentence)
    (target,) = translator.generate([source])
    wanted = cross_weights(translator.model, source, target)[1, 1]
    cells = page.locator(".live table.weights tbody td")
    shown = torch.tensor([float(x) for x in cells.all_text_contents()])
    assert torch.allclose(shown.view_as(wanted), wanted, atol=0.006)
    page.locator(".live table.weights tbody td").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator(".live .cell").inner_text()
    assert said.endswith(f"{wanted[1, 1]:.3f}")


def test_steps_are_replayed(visit: Visitor, translator: Translator) -> None:
    page = open_page(visit, text="我有一本书。")
    n = len(translator.generate([translator.encode("我有一本书。")])[0])
    slider = page.get_by_label("Tokens written")
    assert slider.get_attribute("max") == str(n)
    slider.fill("2")
    assert page.locator(".live .written button").count() == 2
    slider.fill(str(n))
    assert page.locator(".live .written button").count() == n


def test_a_link_and_a_picture_are_shared(visit: Visitor) -> None:
    page = open_page(visit, text="I like tea.", silent={CROSS: [0, 1]})
    broken = result(page)
    page.get_by_role("button", name="Copy a link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download this picture").click()
    svg = download.value.path().read_text("utf-8")
    assert svg.startswith("<svg")
    assert "tea" in svg
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".live .result")).to_have_text(broken, timeout=60_000)


def test_keys_alone_are_enough(visit: Visitor) -> None:
    page = visit.open("/en/live/translate/")
    page.locator(".live .ask input").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("I love you.")
    page.keyboard.press("Enter")
    expect(page.locator(".live .result")).to_have_text(
        "我爱你。", timeout=60_000
    )
    reached = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate(
                "document.activeElement.closest('.live')"
                " ? document.activeElement.localName : ''"
            )
        )
    assert {"button", "input", "select", "td"} <= reached


def test_each_group_is_one_stop_of_tab(visit: Visitor) -> None:
    """Inside it arrow keys, Home and End move, and Enter chooses."""
    page = open_page(visit, name=CROSS, head=2, text=SENTENCES[0])
    groups = page.locator(".live [role=toolbar], .live table.weights")
    assert groups.count() == 6
    for n in range(6):
        expect(groups.nth(n).locator("[tabindex='0']")).to_have_count(1)
    focused = page.locator(":focus")
    page.locator(".live .thumbnails [aria-pressed=true]").focus()
    for key, layer, head in (
        ("ArrowLeft", 2, 2),
        ("ArrowUp", 1, 2),
        ("End", 2, 4),
        ("ArrowRight", 2, 4),
        ("Home", 1, 1),
        ("ArrowDown", 2, 1),
    ):
        page.keyboard.press(key)
        said = f"Decoder, cross-attention, layer {layer}, head {head}"
        expect(focused).to_have_attribute("aria-label", said)
    page.keyboard.press("Enter")
    expect(focused).to_have_attribute("aria-label", said)
    expect(focused).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(focused).to_have_attribute("aria-label", said)


LONG = "\N{GRINNING FACE}" * 15  # 62 tokens, and no end to its translation
ANSWERED = """(questions) => new Promise((resolve) => {
  const here = (path) => new URL(path, location.href);
  const script = here("../../assets/live/translate_worker.js");
  const worker = new Worker(script, { type: "module" }), answered = [];
  worker.onmessage = ({ data }) => {
    if (data.ready) questions.slice(0, 2).forEach((question) => worker.postMessage(question));
    if (!data.number) return;
    answered.push([data.number, data.text]);
    if (data.number === 2) worker.postMessage(questions[2]);
    if (data.number === 3) resolve(answered);
  };
  worker.postMessage({ url: here("../../../models/everyday.safetensors").href });
})"""


def test_a_newer_question_ends_an_older_one(visit: Visitor) -> None:
    """The first is dropped: it isn't answered before what takes as long."""
    page = visit.open("/en/live/translate/")
    long = {"text": LONG[:5], "beamSize": 8}
    short = {"text": "I love you.", "number": 2}
    questions = [long | {"number": 1}, short, long | {"number": 3}]
    answered = page.evaluate(ANSWERED, questions)
    assert answered[0] == [2, "我爱你。"]
    assert [number for number, _ in answered] == [2, 3]


def test_a_long_wait_and_a_long_text_are_told(visit: Visitor) -> None:
    page = open_page(visit, beamSize=8, text="Hi.")
    status = page.locator(".live [role=status]")
    page.locator(".live .ask input").fill(LONG)
    expect(status).to_have_text("Translating…")
    ask(page, "I love you.")
    assert result(page) == "我爱你。"
    ask(page, LONG * 2)
    expect(status).to_have_text(
        "At most 64 tokens are read here at a time, and this text has 122."
    )
    expect(page.locator(".live .result")).to_be_hidden()
    ask(page, "I love you.")
    expect(page.locator(".live .result")).to_have_text("我爱你。")


NOTED = """() => {
  const status = document.querySelector(".live [role=status]");
  window.noted = [];
  new MutationObserver(() => noted.push(status.textContent))
    .observe(status, { childList: true, characterData: true, subtree: true });
}"""


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_the_fetch_is_told_at_each_quarter(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/live/translate/")
    page.locator(".live .ask button").wait_for()
    page.evaluate(NOTED)
    page.locator(".live .ask button").click()
    expect(page.locator(".live .result")).not_to_be_empty(timeout=60_000)
    noted = page.evaluate("noted.filter((words) => words.endsWith('%'))")
    quarters = [int(words.split()[-1][:-1]) for words in noted]
    assert quarters[-1] == 100
    assert quarters == sorted({*quarters} & {0, 25, 50, 75, 100})


@pytest.mark.parametrize("edition", ["zh", "en"])
@pytest.mark.parametrize("options", [{}, PHONE])
def test_a_long_sentence_leaves_the_page_usable(
    visit: Visitor, edition: str, options: dict[str, object]
) -> None:
    text = "我昨天在花园里找到了一把钥匙，" * 3
    page = open_page(visit, edition, text=text)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for view in (".lines", ".map"):
        height = page.locator(view).evaluate("view => view.offsetHeight")
        assert 100 < height <= 600
    assert violations(page, OTHERS, ".live") == []


@pytest.mark.parametrize("edition", ["zh", "en"])
@pytest.mark.parametrize("options", [{}, PHONE])
def test_it_is_sound_when_it_has_translated(
    visit: Visitor, edition: str, options: dict[str, object]
) -> None:
    page = open_page(visit, edition)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page, OTHERS) == []
    for scheme in ("default", "slate"):
        page.evaluate(f"document.body.dataset.mdColorScheme = '{scheme}'")
        assert violations(page, {"runOnly": COLOURS}, ".live") == []


ENGINE = """async ([sentences, scored]) => {
  const here = (path) => new URL(path, location.href);
  const { Translator } = await import(here("assets/live/translator.js"));
  const file = await fetch(here("../models/everyday.safetensors"));
  const translator = new Translator(await file.arrayBuffer());
  const found = sentences.map((text) => translator.translate(text).tokenIds);
  const logits = sentences.slice(0, scored).map((text, i) => {
    const memory = translator.model.encode(translator.encode(text));
    const before = [1, ...found[i].slice(0, -1)];
    return Array.from(translator.model.decode(before, memory).data);
  });
  return { found, logits };
}"""


@pytest.mark.parametrize("side", ["english", "chinese"])
def test_chromium_computes_what_pytorch_does(
    visit: Visitor, translator: Translator, side: str
) -> None:
    """The same tokens for 200 sentences of the exam, and logits to 1e-4."""
    sentences = [row[side] for row in read_exam("everyday")][:200]
    assert len(sentences) == 200
    page = visit.open("/en/")
    answer = page.evaluate(ENGINE, [sentences, 5])
    sources = [translator.encode(text) for text in sentences]
    wanted = translator.generate(sources)
    assert answer["found"] == [list(row) for row in wanted]
    for source, target, logits in zip(
        sources, wanted, answer["logits"], strict=False
    ):
        inputs = [source], [len(source)], [[BOS, *target[:-1]]]
        with torch.no_grad():
            exact = translator.model(*map(torch.tensor, inputs))
        theirs = torch.tensor(logits).view_as(exact)
        assert torch.allclose(theirs, exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_the_home_page_translates(
    visit: Visitor, edition: str, translator: Translator
) -> None:
    page = visit.open(f"/{edition}/")
    box = page.locator("h2").first.bounding_box()
    field = page.locator(".live input")
    field.fill("I love you.")
    field.press("Enter")
    expect(page.locator(".live b")).to_have_text("我爱你。", timeout=60_000)
    assert page.locator("h2").first.bounding_box() == box  # nothing moved
    link = page.locator(".live .says a")
    link.click()
    expect(page.locator(".live .result")).to_have_text(
        "我爱你。", timeout=60_000
    )
