"""The demo model's tokenizer: byte-level BPE, so that any Unicode text works."""

from __future__ import annotations

from pathlib import Path
from random import Random

from corpus import sample_text
from facts import (
    ANIMALS,
    CITIES,
    COLOURS,
    COUNTRIES,
    DAYS,
    FOODS,
    JOBS,
    MONTHS,
    NAMES_FEMALE,
    NAMES_MALE,
    THINGS,
)
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

VOCABULARY_SIZE = 3072
SPECIALS = ("<s>", "</s>", "<pad>")
SAMPLE_CHARACTERS = 14_000_000


def answer_words() -> list[str]:
    """Words that should be one token each: an answer in pieces shows no clean choice."""
    words = [word for row in COUNTRIES for word in row] + [word for row in ANIMALS for word in row]
    words += [*CITIES, *COLOURS, *DAYS, *MONTHS, *FOODS, *JOBS, *THINGS, *NAMES_FEMALE, *NAMES_MALE]
    words += ["days", "weeks", "months", "hours"]
    return words + [str(n) for n in range(101)]


def train_tokenizer(seed: int) -> Tokenizer:
    """Train on the corpus and on the answer words, repeated."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(seed), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)]
    )
    return tokenizer


def _texts(seed: int) -> list[str]:
    words = answer_words()
    rng = Random(seed)
    texts = list(sample_text(seed, SAMPLE_CHARACTERS))
    for _ in range(3000):
        rng.shuffle(words)
        texts.append(" " + " ".join(words[:300]))
    return texts


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and the configuration that transformers needs beside it."""
    import json

    tokenizer.save(str(folder / "tokenizer.json"))
    configuration = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "model_max_length": 512,
        "clean_up_tokenization_spaces": False,
    }
    text = json.dumps(configuration, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
