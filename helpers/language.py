"""In which language a text is shown: `kernel_judge.words`, with the course's own sentences in `zh_CN.toml`."""

import contextlib
import functools
import logging
import os
import re
from pathlib import Path

from kernel_judge import words
from kernel_judge.words import CHINESE, ENGLISH, NOW, closed_up, pair_of, said, set_language, spelled, wrapped

__all__ = ["CHINESE", "ENGLISH", "NOW", "closed_up", "in_words", "said", "set_language", "spelled", "wrapped"]
words.FOLDERS.append(Path(__file__).parent)
# Files of fonts with Chinese characters and without serifs: of Linux, Windows, macOS.
FONT_FILES = r"noto_?sans_?(cjk|sc)-regular|source_?han_?sans\w*-regular|wqy-"
FONT_FILES += r"|\bmsyh\.|\bsimhei\.|pingfang|hiragino sans gb|stheiti"


def in_words(sentence: str | tuple) -> str:
    """A sentence, or its key and values, in the language that was chosen."""
    key, values = pair_of(sentence) or (sentence, {})
    return said(key, **values)


def of_the_user() -> str:
    """The language of this machine's user, as the locale has it."""
    names = [os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG")]
    return CHINESE if next(filter(None, names), "").startswith("zh") else ENGLISH


@functools.cache
def chinese_font() -> str:
    """The name of a font here that has Chinese characters, for pictures; "" where none is known."""
    from matplotlib.font_manager import findSystemFonts, fontManager  # only now: it takes a while

    for path in sorted(findSystemFonts()):  # matplotlib's own list may be older than a font
        if re.search(FONT_FILES, path, re.IGNORECASE):
            with contextlib.suppress(Exception):  # as of some of macOS, which FreeType cannot read
                fontManager.addfont(path)
                logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it would tell of each bold label
                return next(font.name for font in fontManager.ttflist if font.fname == path)
    return ""
