"""What the web edition's page "Run the ladder on your GPU" gets from the course: kernels, launches, shapes, exercises.

The page's own files are in tools/web/gpu: JavaScript, a text in each language, and texts.json with every other word.
"""

import json
import re
import shutil
from html import escape
from pathlib import Path
from types import SimpleNamespace

from notebooks import ROOT

from helpers import ladder
from helpers.devices import Device
from helpers.exercises import with_part
from helpers.judge import shapes

HERE, KERNELS = ROOT / "tools" / "web" / "gpu", ROOT / "helpers" / "webgpu"
PAGE = "your_gpu"
TEXTS = json.loads((HERE / "texts.json").read_text("utf-8"))
# What WebGPU promises on any device, and what most have; between them are the parameters that a browser chooses from.
DEVICES = [Device("WebGPU", f"{kib} KiB", "GPU", "", 256, kib * 1024, None) for kib in (16, 32)]
REMAINDERS = 6  # ragged shapes beside those of `shapes_for`: a page that one waits for has few, a test has sixty
# Every size past 256, and a K that a loop typed too short does not reach; without a GPU, larger ones take too long.
LARGE = [(263, 271, 269), (4, 6, 4003)]
# What stands in place of the part that an exercise leaves out, as on pages 02 and 04.
LEFT_OUT = {
    "naive": "    // your turn: which element is mine? is it in C? its sum\n",
    "tiled": "// your turn: stage, wait, multiply, wait",
}
CHART = re.compile(
    r'ladder_chart\(.*?measure_ladder\(upto="(\w+)"\)|measure_ladder\(upto="(\w+)"\).*ladder_chart\(', re.S
)


def source(name):
    """The step's WGSL."""
    return (KERNELS / f"{name}.wgsl").read_text("utf-8")


def stub(name):
    """The step's WGSL without the part that the exercise asks for."""
    if name == "tiled":
        return with_part("WebGPU", name, (1, 4), LEFT_OUT[name])
    return re.sub(r"    let row = .*(?=^}$)", LEFT_OUT[name], source(name), flags=re.S | re.M)


def choice(step, device):
    """The step's parameters for that device, what its block needs, its tile, and a check's ragged shapes in stages."""
    p = ladder.parameters(step, device, {})
    x, y = step.block(p)
    k = SimpleNamespace(step=step.name, parameters=p, device=None)
    small = sorted([*shapes.shapes_for(k), *shapes.long_shapes(k)], key=lambda shape: shape[0] * shape[1] * shape[2])
    stages = [small, [*shapes.remainders(k)[:REMAINDERS], *shapes.many_blocks(k), *LARGE]]
    needs = dict(shared_bytes=4 * step.staged(p), threads=x * y)
    return dict(parameters=p, **needs, tile=step.tile(p), stages=stages)


def steps():
    """What the page knows of each rung; `choices`: the last one that a device has room for is the one to take."""
    pages = {step: path.stem for path in rung_pages() for step in [rung_of(path)]}
    told = []
    for name in ladder.steps("WebGPU"):
        step = ladder.STEPS[name]
        choices = [choice(step, device) for device in DEVICES]
        about = dict(name=name, idea=step.idea, page=pages[name], x_along=step.x_along)
        told.append(about | dict(choices=choices[choices[0]["parameters"] == choices[1]["parameters"] :]))
    return dict(steps=told, stubs={name: stub(name) for name in LEFT_OUT})


def rung_pages():
    """The notebooks whose chart ends with a rung that WebGPU has, too."""
    return [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if rung_of(path)]


def rung_of(path):
    """The rung that the page of that notebook times last, in its stored chart; None where it has none."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    rungs = (charted("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code")
    return next((rung for rung in rungs if rung in ladder.steps("WebGPU")), None)


def charted(code):
    """The last rung of the chart that the cell draws from this machine's times; None if it draws none."""
    found = CHART.search(code)
    return found and (found[1] or found[2])


def place(language, kind, **data):
    """Where page.js puts its part: until then, and where no file can be fetched, words that say what to do."""
    about = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    return f'<div class="gpu" data-gpu="{kind}"{about}><p class="gpu-missing">{TEXTS[language]["missing"]}</p></div>'


def beside_the_chart(language, rung):
    """Markdown for a rung's page, below its stored chart: the button for this rung and the one before."""
    return f"{place(language, 'rung', step=rung)}\n"


def page(language):
    """The page itself, as Sphinx is given it."""
    text = (HERE / f"{PAGE}.{language}.md").read_text("utf-8")
    return re.sub(r"^\{\{(\w+)\}\}$", lambda found: place(language, found[1]), text, flags=re.M)


def copy_to(folder: Path, language):
    """Write all that a browser fetches for the page into that folder."""
    folder.mkdir(parents=True)
    for file in [*HERE.glob("*.js"), *KERNELS.glob("*.wgsl")]:
        shutil.copy(file, folder)
    (folder / "steps.json").write_text(json.dumps(steps()), encoding="utf-8")
    (folder / "texts.json").write_text(json.dumps(TEXTS[language], ensure_ascii=False), encoding="utf-8")
