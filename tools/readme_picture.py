"""Draw the picture of the READMEs, tools/web/ladder_and_page.png: the recorded ladder, and page 04 beside it.

    make web && python tools/readme_picture.py

The rates come from results/, and the page from the web book as Chromium shows it.
"""

import base64
import io
import sys
from pathlib import Path

from notebooks import ROOT
from PIL import Image
from playwright.sync_api import sync_playwright

from helpers.clock import read_results
from helpers.pictures.colours import OURS, PEER

PICTURE = ROOT / "tools" / "web" / "ladder_and_page.png"
GPU, SIZE = "NVIDIA H200", 4096
WIDTH = 600  # pixels of the page: so narrow that its films stand one below the other
WIDE, HIGH = 980, 496  # pixels of the picture as it is shown; it holds twice as many each way
FRAME = """<body style="margin: 0; display: flex; width: {wide}px; height: {high}px; background: white; color: #222;
font: 15px 'DejaVu Sans', sans-serif"><div style="width: 440px; padding: 18px 14px; box-sizing: border-box">
<b>{gpu}, GFLOP/s</b><table style="width: 100%; margin-top: 2px; border-spacing: 0 26px; font-size: 15px">{rows}</table>
</div><div style="flex: 1; overflow: hidden; border: 1px solid #bbb; border-radius: 8px; margin: 10px"><img
style="width: 100%; height: 100%; object-fit: contain; object-position: top" src="data:image/png;base64,{page}">
</div></body>"""
ROW = """<tr><td>{name}</td><td style="width: 185px"><i style="display: block; height: 19px; width: {share:.1f}%;
background: {colour}"></i></td><td style="text-align: right">{rate:,}</td></tr>"""


def recorded(dialect="CUDA") -> dict[str, int]:
    """{step: GFLOP/s} of that dialect's ladder, 4096 x 4096, slowest first, and of cuBLAS last."""
    [gpu] = [machine for machine in read_results(ROOT / "results") if machine.device == GPU]
    [board] = [one for one in gpu.boards if (one.M, one.N, one.K) == (SIZE, SIZE, SIZE)]
    rates = {timing.step: round(timing.gflops) for timing in board.timings if timing.dialect == dialect}
    return {step: rates[step] for step in sorted(rates, key=lambda step: (step == "cuBLAS", rates[step]))}


def main():
    """Write the picture; return the exit status."""
    page_file = ROOT / "web" / "04_tiling.html"
    if not page_file.exists():
        sys.exit("there is no web/04_tiling.html: run make web first")
    rates = recorded()
    most = max(rates.values())
    rows = "".join(
        ROW.format(name=name, rate=rate, share=100 * rate / most, colour=PEER if name == "cuBLAS" else OURS["CUDA"])
        for name, rate in rates.items()
    )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium")
        page = chromium.new_page(viewport=dict(width=WIDTH, height=1000), device_scale_factor=2, color_scheme="light")
        page.goto(page_file.as_uri())
        film = page.locator("input[type=range]").first
        film.fill("7")
        film.blur()
        begin = page.get_by_text("film(cuda_kernel(").first.bounding_box()
        end = page.locator("figure").first.bounding_box()
        top = begin["y"] - 16
        clip = dict(x=0, y=page.evaluate("scrollY") + top, width=WIDTH, height=end["y"] + end["height"] + 8 - top)
        shown = page.screenshot(full_page=True, clip=clip)
        frame = FRAME.format(wide=WIDE, high=HIGH, gpu=GPU, rows=rows, page=base64.b64encode(shown).decode())
        page.set_viewport_size(dict(width=WIDE, height=HIGH))
        page.set_content(frame)
        drawn = page.screenshot()
        chromium.close()
    Image.open(io.BytesIO(drawn)).convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(PICTURE, optimize=True)
    print(f"{PICTURE.relative_to(ROOT)}: {Path(PICTURE).stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
