"""What `printf` writes in a kernel. Compilers make it a call of `vprintf`, with a format and packed arguments."""

import re
import struct

CONVERSION = re.compile(r"%(?P<how>[-+ #0]*\d*(?:\.\d+)?)(?P<long>hh|h|ll|l|j|z|t)?(?P<what>[diouxXcsfFeEgGaAp%])")


def arguments_of(text):
    """How many arguments a format takes, which is what `vprintf` gives back."""
    return sum(match["what"] != "%" for match in CONVERSION.finditer(text))


def formatted(text, held, string):
    """The text that a thread prints.

    text    the format
    held    a function of an offset in the packed arguments and a number of bytes, which gives these bytes
    string  a function of an address, which gives the text that stands there
    """
    offset = 0

    def one(match):
        nonlocal offset
        how, what = "%" + match["how"], match["what"]
        if what == "%":
            return "%"
        size = 8 if what in "sfFeEgGaAp" or match["long"] in ("ll", "l", "j", "z", "t") else 4
        offset = -(-offset // size) * size
        bits, offset = held(offset, size), offset + size
        number = int.from_bytes(bits, "little", signed=what in "di")
        if what in "fFeEgGaA":
            number = struct.unpack("<d", bits)[0]
            return number.hex() if what in "aA" else (how + what) % number
        if what == "s":
            return (how + "s") % string(number)
        if what == "p":
            return f"{number:#x}"
        return (how + what) % (number & 255 if what == "c" else number)

    return CONVERSION.sub(one, text)
