"""What the web edition's page "Run the ladder on your GPU" gets from the course: kernels, launches, shapes, exercises.

The page's own files are in tools/web/gpu: JavaScript, the kernels in WGSL, a text in each language, and texts.json with
every other word. sizes.json has each rung's parameters, of which the last that a device has room for are taken, and the
shapes (M, N, K) of a check, in stages.
"""

import json
import re
import shutil
from html import escape
from pathlib import Path

from notebooks import ROOT

from helpers import ladder

HERE = ROOT / "tools" / "web" / "gpu"
KERNELS = HERE / "kernels"
PAGE = "your_gpu"
TEXTS = json.loads((HERE / "texts.json").read_text("utf-8"))
SIZES = json.loads((HERE / "sizes.json").read_text("utf-8"))
RUNGS = tuple(SIZES["parameters"])
# What a reader writes of a rung, as (what is left out, a pattern; what stands there instead). What is left is the stub.
WHOLE = r"    let row = .*?C\[row \* N \+ col\] = acc;\n    \}\n"
PART_3 = r"        // 3\..*?(?=        // 4\.)"
FOUR = r"(?<=fn four_of_%s\(row: u32, col: u32\) -> vec4<f32>\n\{\n).*?(?=^\}$)"
FOUR_OF = "    // your turn: four numbers of {}, in one load where rows begin on 16 bytes; zeros outside\n"
FOUR_OF += "    return vec4<f32>();\n"
LEFT_OUT = {
    "naive": [(WHOLE, "    // your turn: which element is mine? is it in C? its sum\n")],
    "coalesced": [(WHOLE, "    // your turn: my element, so that neighbours read neighbours; the guard; the sum\n")],
    "tiled": [(r"        // 1\..*?(?=    \}\n\n    // 5\.)", "        // your turn: stage, wait, multiply, wait\n")],
    "register_1d": [(PART_3, "        // your turn: for each k, one value of B serves TM products\n")],
    "register_2d": [(PART_3, "        // your turn: for each k, TM + TN values in registers serve TM x TN products\n")],
    "vectorized": [(FOUR % name, FOUR_OF.format(name)) for name in "AB"],
    "prefetched": [
        (r"    fetch\(row0, col0, 0, item\);\n", "    // your turn: what is asked for before the first round?\n"),
        (r"        // 2\..*?(?=        // 4\.)", "        // your turn: wait; then ask for the next tile\n"),
        (r"        now = BK - now;\n", "        // your turn: the other half\n"),
    ],
}
NEIGHBOURS = ("coalesced", "tiled")  # of which it is also counted how far apart neighbours read
CHART = re.compile(
    r'ladder_chart\(.*?measure_ladder\(upto="(\w+)"\)|measure_ladder\(upto="(\w+)"\).*ladder_chart\(', re.S
)


def source(name):
    """The step's WGSL."""
    return (KERNELS / f"{name}.wgsl").read_text("utf-8")


def stub(name):
    """The step's WGSL without the parts that its exercise asks for."""
    text = source(name)
    for pattern, instead in LEFT_OUT[name]:
        text, found = re.subn(pattern, instead, text, flags=re.S | re.M)
        if found != 1:
            raise ValueError(f"{name}.wgsl: {pattern!r} fits {found} places, not 1; mend LEFT_OUT.")
    return text


def choices(name):
    """Of each of the rung's choices: its parameters, what its workgroup needs, its tile, and the shapes of a check."""
    step, told = ladder.STEPS[name], []
    for p in SIZES["parameters"][name]:
        x, y = step.block(p)
        needs = dict(shared_bytes=4 * step.value("staged", p), threads=x * y)
        told.append(dict(parameters=p, **needs, tile=step.tile(p), stages=SIZES["shapes"]))
    return told


def constants(language, rung):
    """The words that tell a reader which numbers a kernel finds set, and which of them differ on a larger device."""
    own = TEXTS[language]["own"]
    first, *others = choices(rung)
    said = own["constants"].format(constants=assigned(first["parameters"].items()))
    for other in others:
        differ = assigned(sorted(other["parameters"].items() - first["parameters"].items()))
        said += own["larger"].format(bytes=f"{other['shared_bytes']:,}", constants=differ)
    return said


def assigned(values):
    """These (name, value) as one writes them."""
    return ", ".join(f"{name} = {value}" for name, value in values)


def steps():
    """What the page knows of each rung and its exercise."""
    pages = {step: path.stem for path in rung_pages() for step in [rung_of(path)]}
    told = []
    for name in RUNGS:
        step = ladder.STEPS[name]
        told.append(dict(name=name, page=pages[name], x_along=step.x_along, choices=choices(name)))
    exercises = {name: dict(stub=stub(name), neighbours=name in NEIGHBOURS) for name in LEFT_OUT}
    return dict(steps=told, exercises=exercises)


def rung_pages():
    """The notebooks whose chart ends with a rung that is written in WGSL, too."""
    return [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if rung_of(path)]


def rung_of(path):
    """The rung that the page of that notebook times last, in its stored chart; None where it has none."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    rungs = (charted("".join(cell["source"])) for cell in cells if cell["cell_type"] == "code")
    return next((rung for rung in rungs if rung in RUNGS), None)


def charted(code):
    """The last rung of the chart that the cell draws from this machine's times; None if it draws none."""
    found = CHART.search(code)
    return found and (found[1] or found[2])


def place(language, kind, ask="", **data):
    """Where page.js puts its part: until then, and where no file can be fetched, words that say what to do.

    `ask`: the words of a button; page.js is fetched when a reader presses it.
    """
    about = "".join(f' data-{key}="{escape(value)}"' for key, value in data.items())
    words, button = TEXTS[language], f'<button type="button" class="gpu-go gpu-ask" hidden>{ask}</button>'
    unable = f'<p class="gpu-unable gpu-note">{words["unable"]}</p>' if kind == "own" else ""
    begin = f'<div class="gpu" data-gpu="{kind}"{about}>{button if ask else ""}'
    failed = f'<p class="gpu-failed gpu-note no-search" role="alert">{words["failed"]} <span></span></p>'
    return f'{begin}<p class="gpu-missing">{words["missing"]}</p>{failed}{unable}</div>'


def beside_the_chart(language, rung):
    """Markdown for a rung's page, below its stored chart: the button for this rung and the one before."""
    words, at = TEXTS[language], RUNGS.index(rung)
    ask = words["go"]["rung"].format(names=words["and"].join(RUNGS[max(0, at - 1) : at + 1]))
    return f"{place(language, 'rung', ask, step=rung)}\n"


def exercise(language, rung):
    """Markdown for the end of a rung's page: its exercise, to be read; and a button that puts the editor there."""
    own = TEXTS[language]["own"]
    parts = [f"## {own['heading']}", own["intro"], place(language, "own", own["try"], step=rung).removesuffix("</div>")]
    parts += [own["tasks"][rung], f"```wgsl\n{stub(rung)}```", constants(language, rung)]
    for title, hint in zip(own["hints"], own["hint"][rung], strict=True):
        parts.append(f"<details><summary>{title}</summary><p>{hint}</p></details>")
    parts += [f'<details class="gpu-solution"><summary>{own["solution"]}</summary>', f"```wgsl\n{source(rung)}```"]
    return "\n\n".join([*parts, "</details>", "</div>"]) + "\n"


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
    words = TEXTS[language] | dict(constants={rung: constants(language, rung) for rung in LEFT_OUT})
    (folder / "texts.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")
