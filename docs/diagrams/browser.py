"""What a browser needs to run the book's model: a file, products of matrices, a loop."""

from literate.drawing import Drawing


WEIGHTS = [[0.9, 0.3, 0.6, 0.2], [0.2, 0.7, 0.4, 0.9], [0.5, 0.1, 0.9, 0.3]]
drawing = Drawing(height=290)

file = drawing.group(6, 8, 150, 274, "文件，8 MB | the file, 8 MB")
head = drawing.box(22, 38, 118, 34, "名字、形状 | names, shapes")
whole = drawing.cells(30, 110, 3, 4, "x")
scale = drawing.cells(110, 110, 3, 1, "x", pale=True)
drawing.text(97, 131, "×")
drawing.text(58, 98, "int8 | int8", small=True)
drawing.text(117, 98, "一行一个 | one a row", small=True, anchor="middle")
drawing.text(81, 176, "编码器六层 | 6 encoder layers", small=True)
drawing.text(81, 194, "解码器两层 | 2 decoder layers", small=True)
drawing.text(81, 212, "词元 4,000 个 | 4,000 tokens", small=True)

page = drawing.group(206, 8, 248, 274, "你的浏览器 | your browser")
drawing.arrow(file.right(), page.left())
source = drawing.cells(226, 240, 1, 4, "x")
drawing.text(254, 268, "原文 | source", small=True)
encoder = drawing.box(221, 150, 66, 50, "编码器 | encoder")
drawing.cells(226, 92, 1, 4, "k")
memory = drawing.cells(226, 106, 1, 4, "v")
drawing.text(254, 78, "键和值 | keys, values", small=True)
drawing.arrow(source.top(), encoder.bottom())
drawing.arrow(encoder.top(), memory.bottom())

decoder = drawing.box(347, 150, 66, 50, "解码器 | decoder")
drawing.cells(352, 92, 1, 4, "k", pale=True)
cache = drawing.cells(352, 106, 1, 4, "v", pale=True)
drawing.text(380, 78, "缓存 | cache", small=True)
written = drawing.cells(352, 240, 1, 4, "q")
drawing.text(380, 268, "译文 | translation", small=True)
drawing.arrow((288, 106), (316, 106), (316, 175), (344, 175))
drawing.arrow((368, 123), (368, 147))
drawing.arrow((392, 147), (392, 123))
drawing.arrow((368, 203), (368, 237))
drawing.arrow(written.right(), (432, 247), (432, 175), decoder.right())
