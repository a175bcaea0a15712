"""Ten words in noise, and distances in graphs, for "Speech and graphs".

The same recogniser is trained without noise, for a while and three times as
long, and with noise. The same classifier of nodes is trained with and without
the mask, with more and fewer layers, and with rows of the mask as features.
"""

from statistics import fmean

import torch
from torch import Tensor, nn

from attention_book.models.graph import NodeClassifier
from attention_book.models.speech import SpeechRecognizer
from corpora.graphs.hops import Graphs, make_graphs, train_on_graphs
from corpora.sounds.recognition import error_rate, train_recognizer, with_noise
from corpora.sounds.words import WORDS, make_utterances
from experiments.record import percent


SEEDS = range(3)
N_UTTERANCES = (400, 200)  # for training and test
RATIOS = (None, 20, 10, 5, 0, -5)  # dB
SPEECH = {
    "quiet 400": (400, None),
    "quiet 1200": (1200, None),
    "noise 1200": (1200, (-5.0, 20.0)),
}
SPEECH_NAMES = {
    "quiet 400": "安静 400 步 | quiet, 400 steps",
    "quiet 1200": "安静 1,200 步 | quiet, 1,200 steps",
    "noise 1200": "噪声 1,200 步 | noise, 1,200 steps",
}
N_GRAPHS = (2000, 500)
N_CLASSES = 5
GRAPHS = {  # layers, what is given of the edges, steps
    "feed-forward": (0, "nothing", 300),
    "no mask": (3, "nothing", 300),
    "rows": (3, "rows", 300),
    "rows, longer": (3, "rows", 1200),
    "mask 1": (1, "mask", 300),
    "mask 2": (2, "mask", 300),
    "mask 3": (3, "mask", 300),
    "mask 4": (4, "mask", 300),
}
GRAPH_NAMES = {
    "feed-forward": "没有注意力 | no attention",
    "no mask": "没有掩码，3 层 | no mask, 3 layers",
    "rows": "邻接行作特征，3 层 | rows as features, 3 layers",
    "rows, longer": "同上，1,200 步 | the same, 1,200 steps",
    "mask 1": "邻接掩码，1 层 | mask, 1 layer",
    "mask 2": "邻接掩码，2 层 | mask, 2 layers",
    "mask 3": "邻接掩码，3 层 | mask, 3 layers",
    "mask 4": "邻接掩码，4 层 | mask, 4 layers",
}


def inputs(graphs: Graphs, given: str) -> tuple[Tensor, Tensor | None]:
    """Features of the nodes, and the mask."""
    if given == "mask":
        return graphs.marks, graphs.masks
    if given == "rows":
        rows = graphs.masks[:, 0].float()
        return torch.cat([graphs.marks, rows], dim=-1), None
    return graphs.marks, None


@torch.no_grad()
def right(model: nn.Module, graphs: Graphs, given: str) -> Tensor:
    found = model(*inputs(graphs, given)).argmax(dim=-1)
    return (found == graphs.labels).double()


def run(seed: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for_training, for_test = N_UTTERANCES
    utterances = make_utterances(for_training, seed)
    spoken = make_utterances(for_test, 1000 + seed)
    for name, (steps, decibels) in SPEECH.items():
        torch.manual_seed(seed)
        recognizer = SpeechRecognizer(len(WORDS))
        train_recognizer(
            recognizer,
            utterances,
            max_steps=steps,
            decibels=decibels,
            seed=seed,
        )
        for ratio in RATIOS:
            heard = spoken
            if ratio is not None:
                heard = with_noise(spoken, ratio, seed)
            found[f"{name}, {ratio}"] = error_rate(recognizer, heard)
    train = make_graphs(N_GRAPHS[0], seed)
    test = make_graphs(N_GRAPHS[1], 1000 + seed)
    for name, (n_layers, given, steps) in GRAPHS.items():
        x, mask = inputs(train, given)
        torch.manual_seed(seed)
        model = NodeClassifier(x.shape[-1], N_CLASSES, n_layers=n_layers)
        train_on_graphs(
            model, x, mask, train.labels, max_steps=steps, seed=seed
        )
        ok = right(model, test, given)
        found[f"{name}, all"] = ok.mean().item()
        for distance in range(N_CLASSES):
            of_these = ok[test.labels == distance]
            found[f"{name}, {distance}"] = of_these.mean().item()
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    speech = [["信噪比 | signal to noise", *SPEECH_NAMES.values()]]
    for ratio in RATIOS:
        title = "无噪声 | no noise" if ratio is None else f"{ratio} dB"
        cells = [percent(results[f"{name}, {ratio}"]) for name in SPEECH]
        speech.append([title.replace("-", "−"), *cells])
    graphs = [["模型 | model", "全部 | all", "1", "2", "3", "≥ 4"]]
    for name, title in GRAPH_NAMES.items():
        cells = [
            f"{100 * fmean(results[f'{name}, {distance}']):.0f}%"
            for distance in range(1, N_CLASSES)
        ]
        graphs.append([title, percent(results[f"{name}, all"]), *cells])
    return {"speech": speech, "graphs": graphs}
