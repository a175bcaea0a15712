"""What is done to a page's HTML: formulas, code, names that must not break."""

from pathlib import Path

import pytest

from literate.finish import finish, set_formulas, typeset


def test_a_formula_is_set_and_can_be_heard() -> None:
    html = set_formulas(
        '<p>by <span class="arithmatex">\\(a &lt; b\\)</span> and</p>'
    )
    assert '<span class="katex-html" aria-hidden="true">' in html
    assert (
        '<annotation encoding="application/x-tex">a &lt; b</annotation>'
        in html
    )
    assert "\\(" not in html
    display = set_formulas('<div class="arithmatex">\\[\nx\n\\]</div>')
    assert '<div class="arithmatex"><span class="katex-display">' in display


def test_a_formula_that_cannot_be_set_is_named() -> None:
    says = r"^KaTeX cannot set \$\\frac\{a\$: .*expected"
    with pytest.raises(ValueError, match=says):
        typeset(r"\frac{a", False)


def test_a_stop_stays_with_a_short_formula_only() -> None:
    short = '<span class="arithmatex">\\(d_k\\)</span>'
    kept = set_formulas(f"<p>{short}。 {short}, {short} x</p>")
    assert kept.count('<span class="together"><span class="arithmatex">') == 2
    assert "</span>。</span> " in kept
    assert "</span>,</span> " in kept
    long = f'<p><span class="arithmatex">\\({"+".join("abcdefghijklmno")}\\)</span>。</p>'
    assert "together" not in set_formulas(long)


def test_the_hidden_language_has_only_formulas_of_its_own_set() -> None:
    formula = '<span class="arithmatex">\\({}\\)</span>'.format
    shown = f'<section lang="zh"><p>{formula("x")}</p></section>'
    hidden = f'<section lang="en" class="twin"><p>{formula("x")} {formula("y")}</p></section>'
    html = set_formulas(
        shown + hidden.replace("</p>", f"; {formula('x')}.</p>")
    )
    assert html.count('class="katex"') == 2
    waits = '<span class="arithmatex" data-tex="">x</span>'
    assert html.count(waits) == 2
    assert f'<span class="together">{waits}.</span>' in html


BLOCK = """<div class="language-python highlight"><pre><span></span><code>{}</code></pre></div>"""


def test_code_keeps_only_what_has_a_colour() -> None:
    code = '<span class="n">x</span> <span class="o">=</span><span class="w"> </span><span class="mi">1</span><span class="p">,</span>\n'
    html = finish(BLOCK.format(code), "en")
    assert (
        '<code>x <span class="o">=</span> <span class="mi">1</span>,\n</code></pre>'
        in html
    )
    assert (
        'class="copy" title="Copy" aria-label="Copy" data-done="Copied"'
        in html
    )
    assert 'aria-label="复制"' in finish(BLOCK.format(code), "zh")
    output = BLOCK.replace("python", "text output no-copy").format("1\n")
    assert "<button" not in finish(output, "en")


@pytest.mark.parametrize(("lines", "folds"), [(4, False), (5, True)])
def test_a_long_docstring_is_folded(lines: int, folds: bool) -> None:
    texts = ['"""One.', *(f"line {n}" for n in range(lines)), '"""']
    code = (
        "\n".join(f'<span class="sd">{text}</span>' for text in texts) + "\n"
    )
    html = finish(BLOCK.format(code), "en")
    assert ('<span class="folded sd" hidden>' in html) == folds
    if folds:
        first, rest = html.split("<button", 1)
        assert first.endswith('<span class="sd">"""One.</span>')
        assert "\nline 0\n" in rest
        assert 'aria-label="Show the docstring" aria-expanded="false"' in rest


@pytest.mark.parametrize(
    ("end", "folds"), [("plt.show()", True), ("print(x)", False)]
)
def test_plotting_is_folded(end: str, folds: bool) -> None:
    code = (
        f'x = 1\n\nplt.figure(<span class="s2">&quot;a&quot;</span>)\n{end}\n'
    )
    html = finish(BLOCK.format(code), "en")
    assert ('<span class="folded" hidden>\nplt.figure(' in html) == folds
    assert ('aria-label="Show the code of the plot"' in html) == folds
    assert "x = 1\n" in html.partition("<button")[0]


def test_a_figure_keeps_its_place_before_it_comes(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<svg width="300pt" height="150pt">')
    html = '<p><img alt="甲" src="a.svg" /> <img src="data:image/svg+xml,x" /></p>'
    shown = finish(html, "zh", tmp_path)
    assert '<img width="400" height="200" alt="甲" src="a.svg" />' in shown
    assert shown.count("width=") == 1
    (tmp_path / "a.svg").write_text(
        '<svg width="300pt" height="150pt"><text style="font-size: 6px">'
    )
    assert 'height="200" style="--least: 450px" ' in finish(
        html, "zh", tmp_path
    )


def test_a_hyphen_in_code_ends_no_line() -> None:
    page = (
        "<p><code>a --beam 4</code> <code>b - c</code>, well-known</p>"
        "<pre><code>pip install --upgrade\n</code></pre>"
        "<code>a-very-long-name-of-25-chars</code> <code>&quot;e-f&quot;</code>"
    )
    kept = '<span class="together">{}</span>'.format
    expected = page.replace("--beam", kept("--beam"))
    expected = expected.replace("e-f", kept("e-f"))
    assert finish(page, "zh") == expected
