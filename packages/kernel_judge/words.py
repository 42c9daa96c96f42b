"""What a verdict says, in English or Chinese: a sentence is looked up exactly, by its key.

The key is short, and both tables beside this file have it; or it is the English itself, with {places} for what differs.
"""

import functools
import re
import textwrap
import tomllib
from pathlib import Path

ENGLISH, CHINESE = "en", "zh_CN"
NOW = [ENGLISH]  # the language that is shown
FOLDERS = [Path(__file__).parent]  # whose tables, called like the language, have the sentences; who has more adds to it
PLACE = re.compile(r"\{(\w+)\}")
WIDE = "\u2e80-\u303e\u3400-\u9fff\uff01-\uff60"  # take two columns each: Chinese characters, and their punctuation


def set_language(language: str) -> None:
    """Choose the language of verdicts, pictures and the doctor, for this process.

    `language`: "en" or "zh_CN". A sentence that has no Chinese yet is shown in English. Raises ValueError for others.
    """
    if not isinstance(language, str) or language not in (ENGLISH, CHINESE):
        raise ValueError(f"language={language!r} is neither {ENGLISH!r} nor {CHINESE!r}; give one of them.")
    NOW[0] = language


def said(sentence: str, /, **values: object) -> str:
    """The sentence with these values, in the language that was chosen. What `spelled` takes for one is said, too."""
    return spelled(NOW[0], sentence, values)


def spelled(language: str, sentence: str, values: dict) -> str:
    """The sentence of that key with those values, in that language; in English, whole, where it has none there.

    A value that has a key and values itself, as a `Finding` has, or is such a pair, is spelled first; one called "kind"
    is a kind of finding. A sentence without values stays as it is, and one without words, "{name}: {rate}", needs none.
    """
    table = sentences(language)
    if language != ENGLISH and sentence not in table and re.search("[A-Za-z]", PLACE.sub("", sentence)):
        return spelled(ENGLISH, sentence, values)
    words = table.get(sentence, sentence)
    if not values:
        return words
    texts = {name: spelled(language, *pair) if (pair := pair_of(value)) else value for name, value in values.items()}
    if "kind" in texts:
        texts["kind"] = kind_in(language, texts["kind"])
    text = words.format(**texts)
    return text if language == ENGLISH else closed_up(text)


def closed_up(chinese: str) -> str:
    """The text without blanks between Chinese characters and behind a full-width mark, where a place was filled."""
    return re.sub(f"(?<=[{WIDE}“”]) (?=[{WIDE}“”])|(?<=[，。：；、！？]) ", "", chinese)


def pair_of(value: object) -> tuple | None:
    """(key, values) of a value that is a sentence itself; None of another one."""
    if hasattr(value, "key"):
        return value.key, value.values
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[1], dict):
        return tuple(value)
    return None


def kind_in(language: str, kind: str) -> str:
    """The name of a kind of findings: in Chinese both names, since prose has either."""
    chinese = "" if language == ENGLISH else kinds().get(kind)
    return f"{chinese}（{kind}）" if chinese else kind


@functools.cache
def kinds() -> dict[str, str]:
    """{kind of a finding: its Chinese name}."""
    return {kind: name for folder in FOLDERS for kind, name in tables(folder)["kinds"].items()}


@functools.cache
def sentences(language: str) -> dict[str, str]:
    """{key: sentence} of what is said in that language; of English, those alone that have a short key."""
    return {
        key: words
        for folder in FOLDERS
        for name, table in tables(folder, language).items()
        if name != "kinds"
        for key, words in table.items()
    }


@functools.cache
def tables(folder: Path, language: str = CHINESE) -> dict[str, dict[str, str]]:
    """The file of that folder as it is: {table: {key: sentence}}; {} where there is none."""
    file = folder / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


class ByCharacter(textwrap.TextWrapper):
    """Breaks lines between words, and beside any Chinese character, but before no punctuation."""

    wordsep_simple_re = re.compile(
        rf"([ \t]+|(?:[（《]\0|“)*(?:[{WIDE}]\0|[^ \t{WIDE}\0]+)(?:[，。；：、？！）》]\0|”)*)"
    )


def wrapped(line: str, width: int, **indents: str) -> str:
    """The line in lines of so many columns at most, of which a Chinese character takes two; `indents` as textwrap's."""
    wrapper = ByCharacter(width, break_long_words=False, break_on_hyphens=False, **indents)
    return wrapper.fill(re.sub(f"[{WIDE}]", "\\g<0>\0", line)).replace("\0", "")
