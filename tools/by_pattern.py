"""Stored English text in Chinese: what a print, a picture's words and the doctor's rows say, of which only text is kept.

A sentence of helpers' tables is recognised by its words; what stands in its places is looked up, too, or stays.
"""

import functools
import re

from helpers import language
from helpers.language import CHINESE, ENGLISH, PLACE

SIGNS = re.compile(r"(?P<before> *(?:[✓✗…·] )?)(?P<said>.*)")
CODE = re.compile(r"\s+\d+ \| ")  # begins a line of a kernel
LONGEST = 2000  # signs of a line: an error may quote a learner's whole array
# What code puts together from parts without words of their own: English, Chinese.
TOGETHER = {
    "{unit} {time} ms, {share}%": "{unit} {time} ms，{share}%",
    "{unit} {time} ms, {share}%: {reasons}": "{unit} {time} ms，{share}%：{reasons}",
    "{unit} {time} ms, {share}% then {more}": "{unit} {time} ms，{share}%，然后{more}",
    "{unit} {time} ms, {share}%: {reasons} then {more}": "{unit} {time} ms，{share}%：{reasons}，然后{more}",
    "{time} ms of {what}": "{what} {time} ms",
    "{share}% {what}": "{share}% {what}",
}


def in_chinese(text: str) -> str:
    """The text in Chinese, line by line: signs and indents stay, and so does a line that no table has."""
    return "\n".join(map(line_in_chinese, text.split("\n")))


def line_in_chinese(line):
    """One line in Chinese."""
    if CODE.match(line):
        return line
    before, said = SIGNS.fullmatch(line).groups()
    kind, _, found = said.partition(": ")
    if kind in kinds() and (chinese := sentence(found) or sentence(found.removesuffix("."))):
        return f"{before}{language.kind_in(CHINESE, kind)}：{chinese}{'' if chinese.endswith(('。', '？')) else '。'}"
    return before + (sentence(said) or said)


def kinds():
    """{kind of a finding: its Chinese name}."""
    return language.tables(language.HERE)["kinds"]


@functools.cache
def sentence(english: str) -> str | None:
    """A sentence, or several, in Chinese; None where no table has one of them."""
    if len(english) > LONGEST:
        return None
    for template, chinese in catalogue():
        if found := template.fullmatch(english):
            places = {name: kind_or_parts(name, word) for name, word in found.groupdict().items()}
            return language.closed_up(chinese.format(**places))
    parts = [sentence(one) for one in re.split(r"(?<=[?.]) (?=[A-Z])", english)]
    return "".join(parts) if len(parts) > 1 and all(parts) else None


def kind_or_parts(name, english):
    """What stands in a place in Chinese: a kind of findings, a sentence, or a list of parts; or as it is."""
    if name == "kind" or (chinese := sentence(english)):
        return language.kind_in(CHINESE, english) if name == "kind" else chinese
    for between, joined in (("; ", "；"), (", ", "，"), (" and ", "和")):
        parts = english.split(between)
        if len(parts) > 1 and any(map(sentence, parts)):
            return joined.join(kind_or_parts("", part) for part in parts)
    return english


@functools.cache
def catalogue() -> list[tuple[re.Pattern, str]]:
    """What each English sentence looks like, and its Chinese: the one with most words first."""
    english, pairs = language.sentences(ENGLISH), dict(TOGETHER)
    for key, chinese in language.sentences(CHINESE).items():
        if re.search("[A-Za-z]", PLACE.sub("", english.get(key, key))):
            pairs[english.get(key, key)] = chinese
    by_words = sorted(pairs.items(), key=lambda pair: -len(PLACE.sub("", pair[0])))
    return [(looks_like(template), chinese) for template, chinese in by_words]


def looks_like(english: str) -> re.Pattern:
    """What a text looks like that is an example of that sentence; what stands in a place twice is the same there."""
    pattern, seen = "", set()
    for number, part in enumerate(PLACE.split(english)):
        if number % 2 == 0:
            pattern += re.escape(part)
        else:
            pattern += f"(?P={part})" if part in seen else f"(?P<{part}>(?:(?!\\. [A-Z]).)+?)"
            seen.add(part)
    return re.compile(pattern)
