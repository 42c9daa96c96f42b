"""In which language a text is shown: English, as the rooms write it, or Chinese, by the sentences of `zh_CN.toml`.

A room writes its sentences in English. Where one is shown, `said` looks for the sentence of the catalogue that it is an
example of, and says the same in Chinese. Numbers, names and lines of code pass as they are; so does, whole, a sentence
that the catalogue lacks.
"""

import functools
import logging
import os
import re
import textwrap
import tomllib
from pathlib import Path

ENGLISH, CHINESE = "en", "zh_CN"
NOW = [ENGLISH]
PLACE = re.compile(r"\{(\w+)\}")
WIDE = "\u2e80-\u303e\u3400-\u9fff\uff01-\uff60"  # take two columns each: Chinese characters, and their punctuation
# Files of fonts with Chinese characters and without serifs: of Linux, Windows, macOS.
FONT_FILES = r"noto_?sans_?(cjk|sc)-regular|source_?han_?sans\w*-regular|wqy-"
FONT_FILES += r"|\bmsyh\.|\bsimhei\.|pingfang|hiragino sans gb|stheiti"
CODE = re.compile(r"\s+\d+ \| ")  # begins a line of a kernel
PARTS = re.compile(r"(?P<before> *(?:[✓✗…·] )?)(?P<said>.*?)(?P<stop>\.?)")  # of a line that is shown
LONGEST = 2000  # signs of a line: an error may quote a learner's whole array
# What stands in a place: a number in one called n or m; what may be long in one called text or any, also with a figure
# behind; in others what ends with its clause.
NUMBER, LONG, CLAUSE = r"(?P<{}>[-+]?[\d,.]*\d)", r"(?P<{}>.+)", r"(?P<{}>(?:(?!; |\. | \(\d+ times\)).)+?)"


def set_language(language: str) -> None:
    """Choose the language of verdicts, pictures and the doctor, for this process.

    `language`: "en" or "zh_CN". A sentence that has no Chinese yet is shown in English. Raises ValueError for others.
    """
    if not isinstance(language, str) or language not in (ENGLISH, CHINESE):
        raise ValueError(f"language={language!r} is neither {ENGLISH!r} nor {CHINESE!r}; give one of them.")
    NOW[0] = language


def of_the_user() -> str:
    """The language of this machine's user, as the locale has it."""
    names = [os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    return CHINESE if next(filter(None, names), "").startswith("zh") else ENGLISH


def said(text: str) -> str:
    """The text as it is shown: where Chinese was chosen, each line that the catalogue has in Chinese."""
    return text if NOW[0] == ENGLISH else in_chinese(text)


def in_chinese(text: str) -> str:
    """The text in Chinese, line by line: signs and indents stay, and so does a line that the catalogue lacks."""
    return "\n".join(map(line_in_chinese, text.split("\n")))


def line_in_chinese(line):
    """One line in Chinese."""
    parts = PARTS.fullmatch(line)
    if CODE.match(line) or not (chinese := sentence(parts["said"])):
        return line
    chinese_to_the_end = re.search(f"[{WIDE}][^{WIDE}]{{,25}}$", chinese)  # else English words end it
    return parts["before"] + chinese + ("。" if chinese_to_the_end else ".") * bool(parts["stop"])


@functools.cache
def sentence(english: str) -> str | None:
    """A sentence, or several, in Chinese; None where the catalogue lacks one of them."""
    if len(english) > LONGEST:
        return None
    for template, chinese in catalogue():
        found = template.fullmatch(english)
        if found and (places := filled(found.groupdict())) is not None:
            return closed_up(chinese.format(**places))
    for between, joined in ((r"(?<=[?.]) (?=[A-Z`])", "。"), ("; ", "；"), (", ", "，")):
        first, *others = re.split(between, english)
        chinese = [sentence(first.removesuffix("."))] if others else []
        while chinese and chinese[-1] and others:
            chinese.append(sentence(others.pop(0).removesuffix(".")))
        if chinese and all(chinese):
            return joined.join(chinese).replace("？。", "？")
    return None


def filled(places):
    """{place: what stands there in Chinese}; None where one that is a text has none. A name stays as it is."""
    code = {name for name, word in places.items() if word == "None" or (name[:4] == "name" and word.isidentifier())}
    chinese = {name: None if name in code else sentence(english) for name, english in places.items()}
    if any(name.startswith("text") and not chinese[name] for name in places):
        return None
    return {name: chinese[name] or english for name, english in places.items()}


def closed_up(chinese: str) -> str:
    """The text without blanks between Chinese characters, where what fills a place has brought two together."""
    return re.sub(f"(?<=[{WIDE}“”]) (?=[{WIDE}“”])", "", chinese)


ALSO: dict[str, str] = {}  # {English: Chinese} of rooms that have their sentences by key


@functools.cache
def tables() -> dict[str, dict[str, str]]:
    """The catalogue as it is in its file: {table: {English: Chinese}}."""
    with open(Path(__file__).with_name(f"{CHINESE}.toml"), "rb") as file:
        return tomllib.load(file)


def entries() -> list[tuple[str, str]]:
    """(English, Chinese) of each sentence: of a kind both names are shown, since prose has either."""
    kinds = {kind: f"{chinese}（{kind}）" for kind, chinese in tables()["kinds"].items()}
    others = [pair for name, table in tables().items() if name != "kinds" for pair in table.items()]
    others += ALSO.items()
    others.sort(key=lambda pair: -len(PLACE.sub("", pair[0])))  # the one with most words wins
    return [*((f"{kind}: {{any}}", f"{both}：{{any}}") for kind, both in kinds.items()), *others, *kinds.items()]


@functools.cache
def catalogue() -> list[tuple[re.Pattern, str]]:
    """What each English sentence looks like, and its Chinese."""
    return [(looks_like(english), chinese) for english, chinese in entries()]


@functools.cache
def chinese_font() -> str:
    """The name of a font here that has Chinese characters, for pictures; "" where none is known."""
    try:
        from matplotlib.font_manager import findSystemFonts, fontManager
    except ImportError:  # the doctor says so
        return ""
    for path in sorted(findSystemFonts()):  # matplotlib's own list may be older than a font
        if re.search(FONT_FILES, path, re.IGNORECASE):
            try:
                fontManager.addfont(path)
            except Exception:  # as of some of macOS, which FreeType cannot read: matplotlib leaves those out, too
                continue
            logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it would tell of each bold label
            names = [font.name for font in fontManager.ttflist if font.fname == path]
            return next((name for name in names if name.endswith(" SC")), names[0])
    return ""


def looks_like(english: str) -> re.Pattern:
    """What a text looks like that is an example of that sentence. (s) stands for an s, or none."""
    first, *others = (re.escape(part).replace(r"\(s\)", "s?") for part in PLACE.split(english)[::2])
    pattern = f"(?i:{first[0]}){first[1:]}" if first[:1].isalpha() else first
    kinds = {"n": NUMBER, "m": NUMBER, "text": LONG, "any": LONG}
    for name, words in zip(PLACE.findall(english), others, strict=True):
        kind = kinds.get(name.rstrip("23"), CLAUSE)
        # What ends with the words behind it ends where these come first: a long line is looked through once.
        atom = "(?>{}{})" if kind is CLAUSE and words.strip("\\ ") and words is not others[-1] else "{}{}"
        pattern += atom.format(kind.format(name), words)
    return re.compile(pattern)


class ByCharacter(textwrap.TextWrapper):
    """Breaks lines between words, and beside any Chinese character, but before no punctuation."""

    wordsep_simple_re = re.compile(
        rf"([ \t]+|(?:[（《]\0|“)*(?:[{WIDE}]\0|[^ \t{WIDE}\0]+)(?:[，。；：、？！）》]\0|”)*)"
    )


def wrapped(line: str, width: int, **indents: str) -> str:
    """The line in lines of so many columns at most, of which a Chinese character takes two; `indents` as textwrap's."""
    wrapper = ByCharacter(width, break_long_words=False, break_on_hyphens=False, **indents)
    return wrapper.fill(re.sub(f"[{WIDE}]", "\\g<0>\0", line)).replace("\0", "")
