#!/usr/bin/env python3
"""Writes splits.json, bpe.json and spm.json beside this file: what independent tokenizers answer.

    pip install regex tokenizers sentencepiece
    ./make_vectors.py

splits.json   pieces that the `regex` package cuts with each splitter's expression, as
              docs/formats/gguf.md states it (\\s spelled as White_Space)
bpe.json      a small vocabulary trained by the `tokenizers` package with each expression, and the
              ids that package gives
spm.json      the same with the `sentencepiece` package (BPE, byte fallback, no normalisation)
"""

import io
import json
import pathlib
import random

import regex
import sentencepiece
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).parent
CONTRACTIONS = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITTERS = {
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "qwen2": [CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL],
    "qwen35": [CONTRACTIONS
               + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL],
    "llama-bpe": [CONTRACTIONS
                  + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL],
}

TEXTS = [
    "", " ", "  ", "\n", "\n\n\n", "\t\t", " \n ", "a", " a", "   a   ", "Hello, world!",
    "I'm you're he's we'll they'd I've don't CAN'T I'M YOU'RE WE'LL O'Neil 'quoted' 'S 'x",
    "for (int i = 0; i < 10; ++i) { x->y = f(x):\n\n  return a != b; }\r\n",
    "1 12 123 1234 12345 3.14159 1e-9 0x7F ٠١٢٣ ½ Ⅷ ²",
    "Hello world! Café déjà vu — 123 😊",
    "e\u0301 and \u00e9; n\u0303o; a\u0301\u0302\u0303b \u0301x",
    "日本語のテキスト、中文，한국어 텍스트。ไทย देवनागरी עברית العربية",
    "tabs\tand\u00a0nbsp\u3000ideographic\u2003em\u200bzero-width\u2028line\u0085next",
    "  leading, trailing  \n\n  indented\n\t\ttwice\n \r\n\r\n x",
    "!!!??? ... --- ***\n\n### Heading\n- item\n- item",
    "👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 👍🏽",
    "snake_case camelCase kebab-case SCREAMING_CASE a.b.c a/b/c",
    "x" * 70, "ab" * 50 + " " + "cd" * 40, " " * 80 + "end", "\n" * 70, "=" * 90, "9" * 70,
    "e\u0301" * 40,
]


def random_texts(count: int) -> list[str]:
    """Short strings over characters that sit on the borders between branches."""
    rng = random.Random(20260101)
    alphabet = list(" \n\r\t'sStTrReEvVmMlLdD09aZ.!_\u00a0\u3000\u0301\u0e31é日٣Ⅷ½😊\u200b\u2028-(")
    return ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 14))) for _ in range(count)]


def spell_white_space(expression: str) -> str:
    """\\s is White_Space here; the regex package counts U+001C..U+001F too."""
    out, i = "", 0
    while i < len(expression):
        two = expression[i:i + 2]
        if two == r"\s":
            out += r"\p{White_Space}"
        elif two == r"\S":
            out += r"\P{White_Space}"
        else:
            out += expression[i]
            i += 1
            continue
        i += 2
    return out


def split(passes: list[str], text: str) -> list[str]:
    pieces = [text] if text else []
    for expression in passes:
        compiled = regex.compile(spell_white_space(expression))
        cut = []
        for piece in pieces:
            at = 0
            for match in compiled.finditer(piece):
                cut += [piece[at:match.start()]] if match.start() > at else []
                cut.append(match.group())
                at = match.end()
            cut += [piece[at:]] if at < len(piece) else []
        pieces = cut
    return pieces


def write(name: str, value: dict) -> None:
    (HERE / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def make_splits() -> None:
    texts = TEXTS + random_texts(300)
    write("splits.json", {
        "origin": f"make_vectors.py with regex {regex.__version__}",
        "splitters": {name: [{"text": t, "pieces": split(passes, t)} for t in texts]
                      for name, passes in SPLITTERS.items()}})


def corpus() -> list[str]:
    rng = random.Random(7)
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(200)]
    lines = [" ".join(rng.choices(words, k=12)) + "." for _ in range(400)]
    return lines + TEXTS * 8 + ["Café déjà vu", "don't won't can't I'll we've"] * 20


def make_bpe() -> None:
    out = {}
    for name, passes in SPLITTERS.items():
        tokenizer = tokenizers.Tokenizer(models.BPE(ignore_merges=name == "llama-bpe"))
        cuts = [pre_tokenizers.Split(tokenizers.Regex(e), "isolated") for e in passes]
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            cuts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        trainer = trainers.BpeTrainer(vocab_size=520, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(corpus(), trainer)
        model = json.loads(tokenizer.to_str())["model"]
        tokens = sorted(model["vocab"], key=model["vocab"].get)
        merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
        cases = [{"text": t, "ids": tokenizer.encode(t).ids} for t in TEXTS + random_texts(60)]
        out[name] = {"tokens": tokens, "merges": merges, "cases": cases}
    write("bpe.json", {"origin": f"make_vectors.py with tokenizers {tokenizers.__version__}",
                       "splitters": out})


def make_spm() -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=model, vocab_size=480, model_type="bpe",
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        character_coverage=0.98, minloglevel=2)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    size = processor.get_piece_size()
    types = [2 if processor.is_unknown(i) else 3 if processor.is_control(i)
             else 6 if processor.is_byte(i) else 1 for i in range(size)]
    texts = [t for t in TEXTS + random_texts(60) if t]
    write("spm.json", {
        "origin": f"make_vectors.py with sentencepiece {sentencepiece.__version__}",
        "tokens": [processor.id_to_piece(i) for i in range(size)],
        "scores": [processor.get_score(i) for i in range(size)],
        "types": types,
        "cases": [{"text": t, "ids": processor.encode(t)} for t in texts]})


if __name__ == "__main__":
    make_splits()
    make_bpe()
    make_spm()
