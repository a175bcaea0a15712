"""Six micro-batches on three stages, slot by slot: GPipe and 1F1B."""

from literate.drawing import CELL, Drawing, same


STAGES, MICRO = 3, 6
SLOTS = 2 * (STAGES + MICRO - 1)
LEFT = 70


def gpipe(stage):
    return [
        *(("F", i) for i in range(MICRO)),
        *(("B", i) for i in range(MICRO)),
    ]


def one_by_one(stage):
    ahead = STAGES - stage
    order = [("F", i) for i in range(ahead)]
    for i in range(MICRO):
        order.append(("B", i))
        order += [("F", i + ahead)] if i + ahead < MICRO else []
    return order


def schedule(order_of):
    """When each stage does each thing: {(stage, pass, micro-batch): slot}."""
    todo = [[*order_of(stage)] for stage in range(STAGES)]
    done = {}
    for slot in range(SLOTS):
        for stage, order in enumerate(todo):
            if not order:
                continue
            name, i = order[0]
            before = stage - 1 if name == "F" else stage + 1
            waits_for = (
                (before, name, i) if 0 <= before < STAGES else (stage, "F", i)
            )
            own = name == "F" and stage == 0
            if own or done.get(waits_for, slot) < slot:
                done[stage, *order.pop(0)] = slot
    return done


drawing = Drawing(height=176)
for top, name, order_of in (
    (28, same("GPipe"), gpipe),
    (118, same("1F1B"), one_by_one),
):
    drawing.text(LEFT, top - 12, name, anchor="start", bold=True)
    done = schedule(order_of)
    for stage in range(STAGES):
        y = top + (CELL + 3) * stage
        drawing.text(
            LEFT - 10,
            y + 7,
            f"第 {stage} 级 | stage {stage}",
            anchor="end",
            small=True,
        )
        drawing.cells(LEFT, y, 1, SLOTS, "o")
        for (owner, kind, _), slot in done.items():
            if owner == stage:
                drawing.cells(
                    LEFT + CELL * slot, y, 1, 1, "x", pale=kind == "B"
                )
