"""How launches are watched, and what becomes of what is found: one set of settings for a process and its children."""

import os
from dataclasses import asdict, dataclass, fields

VARIABLE = "CUDA_WITHOUT_GPU"
WORDS = {"watch": ("first", "all"), "findings": ("raise", "warn", "off"), "native": ("child", "here")}


@dataclass
class Settings:
    """What `cuda_without_gpu.enable` is given; see there."""

    watch: str = "first"
    findings: str = "raise"
    seconds: float = 120.0
    native: str = "child"

    def set(self, **given: object) -> None:
        """Change some of them, for this process and for Python processes that it starts. Raises ValueError."""
        for name, value in given.items():
            if name in WORDS and value not in WORDS[name]:
                raise ValueError(f"{name}={value!r}: it is {' or '.join(map(repr, WORDS[name]))}.")
            if name == "seconds" and not (isinstance(value, (int, float)) and value > 0):
                raise ValueError(f"seconds={value!r}: it is a number of seconds above 0, such as 120.")
        for name, value in given.items():
            setattr(self, name, value)
        os.environ[VARIABLE] = " ".join(f"{name}={value}" for name, value in asdict(self).items())


SETTINGS = Settings()


def settings_of(text: str) -> dict[str, object]:
    """The settings in a text such as "findings=warn seconds=300"; a word without "=" is none. Raises ValueError."""
    known = {field.name: field.type for field in fields(Settings)}
    given = dict(word.split("=", 1) for word in text.split() if "=" in word)
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{VARIABLE}={text!r}: it knows {', '.join(known)}, and no {name}.")
        if known[name] is float:
            try:
                given[name] = float(value)
            except ValueError:
                raise ValueError(f"{VARIABLE}={text!r}: seconds is a number, such as seconds=120.") from None
    return given
