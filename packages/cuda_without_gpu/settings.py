"""How launches are watched, and what becomes of what is found: one set of settings for a process and its children."""

import os
from dataclasses import dataclass

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
        vars(self).update(given)
        os.environ[VARIABLE] = " ".join(f"{name}={value}" for name, value in vars(self).items())


SETTINGS = Settings()


def settings_of(text: str) -> dict[str, object]:
    """The settings in a text: "1", or such as "findings=warn seconds=300". Raises ValueError."""
    given = dict(word.partition("=")[::2] for word in text.split() if word != "1")
    for name in given.keys() - vars(SETTINGS).keys():
        raise ValueError(
            f"{VARIABLE}={text!r}: it is 1, or {'=… '.join(vars(SETTINGS))}=…, and {name} is none of them."
        )
    if "seconds" in given:
        try:
            given["seconds"] = float(given["seconds"])
        except ValueError:
            raise ValueError(f"{VARIABLE}={text!r}: seconds is a number, such as seconds=120.") from None
    return given
