"""Names of C++ as they stand in PTX, and as they stand in the source."""

import re

HIDDEN = re.compile(r"_GLOBAL_|_INTERNAL_")  # a namespace without a name


def plain_name(name: str) -> str:
    """The name that a function or a variable has in its source: "scale" for "_Z5scaleILi4EEvPf", "tile" for
    "_ZZ3addPfE4tile"; without what a template is made for. Any other name is given back.

    Source: "Itanium C++ ABI: Mangling", https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
    """
    if not name.startswith("_Z"):
        return name
    if name.startswith("_ZZ"):  # of a function's own: its name comes last, such as E4tile, E4tile_0 or E4tile_$_0
        ends = re.finditer(r"E(?=(\d+)([A-Za-z_]\w*?)(?:(?:_\$)?_\d+)?$)", name)
        return next((found[2] for found in ends if int(found[1]) == len(found[2])), name)
    nested = name[2:3] == "N"
    at, parts = re.compile(r"_ZN?[KVrRO]*L?").match(name).end(), []
    while length := re.compile(r"L?(\d+)").match(name, at):
        begin = length.end()
        at = begin + int(length[1])
        parts.append(name[begin:at])
        if not nested:
            break
    shown = [part for part in parts if not HIDDEN.match(part)]
    return "::".join(shown) or name
