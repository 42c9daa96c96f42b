"""Stored English text in Chinese, where there is no data: prints, words for pictures, the rows of the doctor.

A sentence of helpers' tables is recognised by its words; what stands in its places is looked up, too, or stays.
"""

import functools
import re

from helpers.language import CHINESE, ENGLISH
from kernel_judge import words
from kernel_judge.words import PLACE

SIGNS = re.compile(r"(?P<before> *(?:[✓✗…·] )?)(?P<said>.*)")
CODE = re.compile(r"\s+\d+ \| ")  # begins a line of a kernel
LONGEST = 2000  # signs of a line: an error may quote a learner's whole array
NUMBERS = "time", "share", "used", "all", "rate"
LISTS = "bars", "units", "pairs", "lines", "dots", "used", "sectors", "owns", "held", "both", "found", "what", "text"


def in_chinese(text: str) -> str:
    """The text in Chinese, line by line: signs and indents stay, and so does a line that no table has."""
    return "\n".join(map(line_in_chinese, text.split("\n")))


def line_in_chinese(line):
    """One line in Chinese."""
    if CODE.match(line):
        return line
    before, said = SIGNS.fullmatch(line).groups()
    kind, _, found = said.partition(": ")
    if kind in words.kinds() and (chinese := sentence(found.removesuffix(".")) or sentence(found)):
        return f"{before}{words.kind_in(CHINESE, kind)}：{chinese}{'' if chinese.endswith(('。', '？')) else '。'}"
    return before + (sentence(said) or said)


@functools.cache
def sentence(english: str) -> str | None:
    """A sentence, or several, in Chinese; None where no table has one of them."""
    if len(english) > LONGEST:
        return None
    for template, chinese, few_words in catalogue():
        found = template.fullmatch(english)
        if found and (not few_words or all_known(found.groups())):
            places = {name: kind_or_parts(name, word) for name, word in found.groupdict().items()}
            return words.closed_up(chinese.format(**places))
    parts = re.split(r"(?<=[?.]) (?=[A-Z])", english)
    chinese = [sentence(part) for part in parts] if len(parts) > 1 else [None]
    return "".join(chinese) if all(chinese) else None


def all_known(words):
    """Whether all that stands in places is a number, or has a Chinese sentence of its own."""
    return all(re.fullmatch(r"[\d.,%]+", word) or sentence(word) for word in words)


def kind_or_parts(name, english):
    """What stands in a place in Chinese: a kind of findings, a sentence, or a list of parts; or as it is."""
    if name == "kind" or (chinese := sentence(english)):
        return words.kind_in(CHINESE, english) if name == "kind" else chinese
    for between, joined in (("; ", "；"), (", ", "，"), (" and ", "和")):
        parts = english.split(between)
        if len(parts) > 1 and any(map(sentence, parts)):
            return joined.join(kind_or_parts("", part) for part in parts)
    return english


@functools.cache
def catalogue() -> list[tuple[re.Pattern, str, bool]]:
    """What each English sentence looks like, its Chinese, and whether it has so few words that much looks like it.

    First those that begin with words, and with most.
    """
    english, pairs = words.sentences(ENGLISH), {}
    for key, chinese in words.sentences(CHINESE).items():
        if re.search("[A-Za-z]", PLACE.sub("", english.get(key, key))):
            pairs[english.get(key, key)] = chinese
    by_words = sorted(pairs.items(), key=lambda pair: (pair[0][0] == "{", -len(PLACE.sub("", pair[0]))))
    few = {one: "{" in one and len(re.sub("[^A-Za-z]", "", PLACE.sub("", one))) < 6 for one in pairs}
    return [(looks_like(template), chinese, few[template]) for template, chinese in by_words]


def looks_like(english: str) -> re.Pattern:
    """What a text looks like that is an example of that sentence; what stands in a place twice is the same there."""
    pattern, seen = "", set()
    for number, part in enumerate(PLACE.split(english)):
        if number % 2 == 0:
            pattern += re.escape(part)
        else:
            sign = r"(?!\. [A-Z])." if part in LISTS else r"(?!\. [A-Z]|; )."
            place = rf"(?P<{part}>[\d.,]+%?)" if part in NUMBERS else rf"(?P<{part}>(?:{sign})+?)"
            pattern += rf"(?P={part})" if part in seen else place
            seen.add(part)
    return re.compile(pattern)
