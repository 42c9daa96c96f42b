"""In which language a text is shown: `kernel_judge.words`, with the course's own sentences in `zh_CN.toml`."""

import functools
import logging
from pathlib import Path

from kernel_judge import words
from kernel_judge.words import CHINESE, ENGLISH, NOW, closed_up, said, set_language, spelled, wrapped

__all__ = ["CHINESE", "ENGLISH", "NOW", "closed_up", "said", "set_language", "spelled", "wrapped"]
words.FOLDERS.append(Path(__file__).parent)
# Fonts with Chinese characters: of Linux, Windows, macOS.
FONTS = "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei"
FONTS += "WenQuanYi Zen Hei", "Microsoft YaHei", "SimHei", "PingFang SC", "Hiragino Sans GB"


@functools.cache
def chinese_font() -> str:
    """The name of a font here that has Chinese characters, for pictures; "" where none is known."""
    from matplotlib.font_manager import fontManager

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it would tell of each bold label
    return next((name for name in FONTS if name in fontManager.get_font_names()), "")
