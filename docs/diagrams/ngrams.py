"""BLEU's precisions: which n-grams of a translation its reference has too."""

from literate.drawing import Drawing, same


REFERENCE = "汤姆在花园里追逐杰瑞"
OUTPUT = "汤姆在花园里追杰瑞"
LEFT = 40
HIGH = 24
drawing = Drawing(height=216)

for y, label, text in (
    (6, "参考译文 | reference", REFERENCE),
    (36, "译文 | translation", OUTPUT),
):
    drawing.text(LEFT + 84, y + HIGH / 2, label, anchor="end", small=True)
    for character in text:
        x = LEFT + 96 + 24 * REFERENCE.index(character)
        drawing.box(x, y, 22, HIGH, same(character))

for n in range(1, 5):
    y = 48 + 34 * n
    drawing.text(LEFT - 14, y + HIGH / 2, f"$p_{n}$", anchor="end")
    wide = 13 * n + 6
    pieces = [OUTPUT[i : i + n] for i in range(len(OUTPUT) - n + 1)]
    n_shared = 0
    for i, piece in enumerate(pieces):
        x = LEFT + (wide + 3) * i
        if piece in REFERENCE:
            n_shared += 1
            drawing.box(x, y, wide, HIGH, same(piece))
        else:
            drawing.group(x, y, wide, HIGH)
            drawing.text(x + wide / 2, y + HIGH / 2, same(piece))
    share = f"{n_shared}/{len(pieces)}"
    drawing.text(452, y + HIGH / 2, share, anchor="end")
