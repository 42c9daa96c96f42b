"""Which name is meant? However somebody writes it; and the nearest, where it is none."""

import difflib
import re
import reprlib
from collections.abc import Callable, Iterable


def named(word: object, names: Iterable[str], what: str) -> str:
    """The one of `names` that the word means, in any case, with or without spaces, hyphens and underscores.

    `what`: what one of the names is called in an error. Raises ValueError, with the nearest name and all others, for
    what is none of them.
    """

    def plain(text):
        return re.sub(r"[\W_]", "", text.casefold())

    known = {plain(name): name for name in names}
    if not isinstance(word, str) or plain(word) not in known:
        raise unknown(word, known.values(), what, plain)
    return known[plain(word)]


def unknown(word: object, names: Iterable[str], what: str, plain: Callable[[str], str] = str.casefold) -> ValueError:
    """The error for a word that is none of `names`: it has the nearest of them, where one is near, and all.

    `plain`: what is compared of a word and of a name.
    """
    known = {plain(name): name for name in names}
    near = "".join(f" Do you mean {known[one]}?" for one in difflib.get_close_matches(plain(str(word)), known, 1))
    return ValueError(f"unknown {what} {reprlib.repr(word)}.{near} The {what}s are: {', '.join(known.values())}.")
