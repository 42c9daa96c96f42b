"""Draw the pictures of the READMEs: a film, tools/web/film.png, and a race that a verdict draws, tools/web/race.png.

python tools/readme_picture.py
"""

import base64
import io

from notebooks import ROOT
from PIL import Image

from helpers import check, cuda_kernel
from helpers.pictures import film
from helpers.pictures.verdicts import picture_finding

BARRIER, SIZES = "cuda.syncthreads()", dict(M=8, N=12, K=12)


def pictures():
    """{file's name: picture}: what a block of `coalesced` reads, and `tiled` without its first barrier."""
    reads = film(cuda_kernel("coalesced", BM=4, BN=4), **SIZES).strip()
    broken = cuda_kernel("tiled", TILE=4).source.replace(BARRIER, "pass", 1)
    race = check(cuda_kernel(broken, like="tiled", TILE=4)).findings[0]
    return {"film.png": reads, "race.png": picture_finding(race)}


if __name__ == "__main__":
    for name, picture in pictures().items():
        file = ROOT / "tools" / "web" / name
        drawn = Image.open(io.BytesIO(base64.b64decode(picture.encoded())))
        drawn.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(file, optimize=True)
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes\n{picture.text}")
