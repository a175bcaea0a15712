# Made from docs/chapters/57-sound-and-graphs.md (ec2a35f11a35). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.speech_and_graphs.audio import read_wave, write_wave
from attention_book.speech_and_graphs.graphs import (
    GraphAttention,
    NodeClassifier,
    neighbour_mask,
)
from attention_book.speech_and_graphs.hops import (
    Graphs,
    hop_distances,
    make_graphs,
    train_on_graphs,
)
from attention_book.speech_and_graphs.recognition import (
    edit_distance,
    error_rate,
    pad_spectrograms,
    recognize,
    train_recognizer,
    with_noise,
)
from attention_book.speech_and_graphs.recognizer import (
    BLANK,
    SpeechRecognizer,
    ctc_collapse,
)
from attention_book.speech_and_graphs.spectrogram import (
    log_mel_spectrogram,
    mel_filters,
)
from attention_book.speech_and_graphs.synthesis import (
    RATE,
    WORDS,
    Utterance,
    add_noise,
    make_utterances,
    synthesize,
)


__all__ = [
    "BLANK",
    "RATE",
    "WORDS",
    "GraphAttention",
    "Graphs",
    "NodeClassifier",
    "SpeechRecognizer",
    "Utterance",
    "add_noise",
    "ctc_collapse",
    "edit_distance",
    "error_rate",
    "hop_distances",
    "log_mel_spectrogram",
    "make_graphs",
    "make_utterances",
    "mel_filters",
    "neighbour_mask",
    "pad_spectrograms",
    "read_wave",
    "recognize",
    "synthesize",
    "train_on_graphs",
    "train_recognizer",
    "with_noise",
    "write_wave",
]
