"""Writing a file so that a killed run leaves the old one or the new one."""

from literate.drawing import Drawing


drawing = Drawing(height=180)
STEPS = (
    ("写临时文件 | write a temporary file", "OUT", "OUT.*.part …"),
    ("写完，刷到磁盘 | flush it to the disk", "OUT", "OUT.*.part"),
    ("改名，一步完成 | rename, in one step", "OUT", ""),
)
for i, (name, old, part) in enumerate(STEPS):
    y = 12 + 68 * i
    step = drawing.box(12, y, 196, 28, name)
    if i < 2:
        drawing.arrow(step.bottom(), (110, y + 65))
    file = drawing.box(
        236,
        y,
        84,
        28,
        f"{old}" + (" 旧 | OUT, old" if i < 2 else " 新 | OUT, new"),
    )
    if part:
        drawing.box(342, y, 106, 28, part)
for y in (54, 122):
    drawing.text(
        342,
        y,
        "此时中断，OUT 仍是旧的 | killed here, OUT is the old",
        small=True,
    )
