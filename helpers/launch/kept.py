"""The best parameters found on this user's devices, one JSON file a device in the user's cache folder.

`clock.tune` writes them; `opencl_kernel(step, parameters="tuned")` and `cuda_kernel` read them. Only that word makes
them count, so no page changes because of what was tuned yesterday. An entry belongs to the source and the driver it was
found with; where either has changed, or the file is damaged, it is ignored, and said so once.
"""

import functools
import hashlib
import json
import os
import re
import tempfile
import warnings

from .. import devices, ladder
from ..devices import Device


def path_of(device):
    """The file of that device, which need not exist."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{device.dialect} {device.name}").strip("-")
    return devices.cache_folder() / f"tuned-{name}.json"


def mark(source, device):
    """What an entry is bound to: the kernel's text and the driver that compiles it."""
    return hashlib.sha256(f"{source}\n{device.driver}".encode()).hexdigest()[:16]


@functools.cache  # each thing is said once
def ignored(path, why):
    """Warn that what is stored there does not count, and why."""
    warnings.warn(
        f"tuned parameters in {path.name} are ignored, the defaults are used: {why}. Tune again to replace them.",
        stacklevel=3,
    )


def entries(device):
    """{step: entry} as stored for that device; empty where there is no file or it cannot be read."""
    path = path_of(device)
    try:
        stored = json.loads(path.read_text())
        return {step: found | {"parameters": dict(found["parameters"])} for step, found in stored.items()}
    except FileNotFoundError:
        pass
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        ignored(path, "the file is damaged")
    return {}


def entry(step, device, source):
    """What is stored of that step on that device, a dict with its `parameters`; {} where none still counts."""
    found = entries(device).get(step.name, {})
    if found and found.get("mark") != mark(source, device):
        ignored(path_of(device), f"those of {step.name} belong to another version of the kernel or of the driver")
        return {}
    try:
        return found and found | {"parameters": ladder.parameters(step, device, found["parameters"])}
    except ValueError as error:
        ignored(path_of(device), str(error).rstrip("."))
        return {}


def chosen(word, step, device, source, given):
    """The parameters `given`, above the tuned ones if `word` is "tuned". Raises ValueError for a word beside it."""
    if word not in (None, "tuned"):
        raise ValueError(
            f'parameters={word!r}: the only word here is "tuned". Name single parameters, such as TILE=16, or unfold a '
            f"dict of them with two stars."
        )
    return (entry(step, device, source).get("parameters", {}) | given) if word else given


def remember(step, device, source, parameters, **about):
    """Store the step's parameters for that device, whole or not at all. `about`: what else its entry should say."""
    path = path_of(device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged file is about to be replaced
        stored = entries(device) | {step.name: {"parameters": parameters, "mark": mark(source, device), **about}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".part", delete=False) as file:
        json.dump(stored, file, indent=1)
    os.replace(file.name, path)


def forget_tuned(step: str | None = None, device: Device | None = None) -> int:
    """The way back: delete what was tuned, of all steps and devices, or of one. Returns how many entries went."""
    if step is not None:
        ladder.step(step)  # an unknown one is an error, not nothing to do
    gone = 0
    for path in sorted(devices.cache_folder().glob("tuned-*.json")) if device is None else [path_of(device)]:
        try:
            stored = json.loads(path.read_text())
        except (OSError, ValueError):
            stored = {}
        left = {name: entry for name, entry in stored.items() if step is not None and name != step}
        gone += len(stored) - len(left)
        if left:
            path.write_text(json.dumps(left, indent=1))
        else:
            path.unlink(missing_ok=True)
    return gone
