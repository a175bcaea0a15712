"""The messages of programs that experiments train on."""

import struct
from pathlib import Path

import pytest

from experiments.catalogues import read_catalogues, without_shortcut


def write_mo(path: Path, messages: dict[str, str], charset: str) -> None:
    """Write a message catalogue as msgfmt does."""
    heading = f"Content-Type: text/plain; charset={charset}\n"
    heading += "Plural-Forms: nplurals=2; plural=n != 1;\n"
    table = sorted(({"": heading} | messages).items())
    keys = [key.encode(charset) for key, _ in table]
    texts = [text.encode(charset) for _, text in table]
    n = len(table)
    body = b""
    offsets = []
    for part in keys + texts:
        offsets += [len(part), 28 + 16 * n + len(body)]
        body += part + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + struct.pack(f"<{4 * n}I", *offsets) + body)


def test_catalogues_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    messages = {
        "Open": "打开",
        "menu\x04Close": "关闭",
        "%d file\0%d files": "%d 个文件\0%d 些文件",
        "noun\x04one\0many": "一\0多",
    }
    write_mo(folder / "a.mo", messages, "utf-8")
    write_mo(folder / "b.mo", {"Open": "开启", "Save": "保存"}, "gb18030")
    write_mo(tmp_path / "de/LC_MESSAGES/a.mo", {"Open": "Öffnen"}, "utf-8")
    found = read_catalogues(folders=[tmp_path, tmp_path / "none"])
    assert sorted(found) == [
        ("%d file", "%d 个文件"),
        ("Close", "关闭"),
        ("Open", "打开"),
        ("Save", "保存"),
        ("one", "一"),
    ]
    assert read_catalogues("de", [tmp_path]) == [("Open", "Öffnen")]
    assert read_catalogues("fr", [tmp_path]) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no catalogue at all, but long enough for a heading",
        struct.pack("<7I", 0x950412DE, 0, 5, 28, 28, 0, 0),  # cut off
    ],
)
def test_a_broken_catalogue_is_left_out(
    tmp_path: Path, content: bytes
) -> None:
    folder = tmp_path / "zh_CN/LC_MESSAGES"
    write_mo(folder / "b.mo", {"Save": "保存"}, "utf-8")
    (folder / "a.mo").write_bytes(content)
    with pytest.warns(UserWarning, match=r"a\.mo: left out: .") as caught:
        assert read_catalogues(folders=[tmp_path]) == [("Save", "保存")]
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("pair", "plain"),
    [
        (("_Open…", "打开(_O)…"), ("Open…", "打开…")),
        (("E&xit", "退出 (&X)"), ("Exit", "退出")),
        (("the R&D of __init__", "很糟"), ("the R&D of __init__", "很糟")),
        (("Si_ze:", "大小（_z）："), ("Size:", "大小：")),
        (("snake_case in _Run", "运行(_R)"), ("snake_case in Run", "运行")),
    ],
)
def test_the_marks_of_shortcuts_go(
    pair: tuple[str, str], plain: tuple[str, str]
) -> None:
    assert without_shortcut(pair) == plain
