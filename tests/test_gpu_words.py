"""What the page "Run the ladder on your GPU" is given: words in both languages, sizes that a device has, exercises."""

import json
import re

import gpu_page
import pytest
from glossary import GLOSSARY

from helpers import ladder


def leaves(texts, above=""):
    """Every place of a word in the texts, with the gaps that it has."""
    if isinstance(texts, str):
        yield above, tuple(sorted(re.findall(r"\{\w+\}", texts)))
    else:
        for key, value in texts.items() if isinstance(texts, dict) else enumerate(texts):
            yield from leaves(value, f"{above}/{key}")


def test_both_languages_have_the_same_words_and_gaps():
    english, chinese = (set(leaves(gpu_page.TEXTS[language])) for language in ("en", "zh_CN"))
    assert chinese == english


def test_every_finding_has_its_words_and_its_name_in_the_glossary():
    named = set(re.findall(r"kind: \"([^\"]+)\"", (gpu_page.HERE / "check.js").read_text("utf-8")))
    rows = dict(re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^：|]+)：", GLOSSARY.read_text("utf-8"), re.M))
    for language in ("en", "zh_CN"):
        kinds, messages = gpu_page.TEXTS[language]["kinds"], gpu_page.TEXTS[language]["messages"]
        assert named <= kinds.keys() and len(named) > 8
        assert kinds.keys() - {"not yet"} == {key.partition("/")[0] for key in messages}
        for kind, name in kinds.items():
            assert name == (kind if language == "en" else f"{rows[kind]}（{kind}）")


@pytest.mark.parametrize("step", gpu_page.RUNGS)
def test_the_least_of_gpus_has_room_for_the_first_choice_of_each_rung(step):
    for least, choice in enumerate(gpu_page.choices(step)):
        p = choice["parameters"]
        assert all(ladder.STEPS[step].value(need, p) for need in ladder.STEPS[step].needs)
        assert least or (choice["shared_bytes"] <= 16 * 1024 and choice["threads"] <= 256)


def test_a_browser_fetches_the_kernels_themselves_and_each_rungs_page(tmp_path):
    gpu_page.copy_to(tmp_path / "gpu", "en")
    told = json.loads((tmp_path / "gpu" / "steps.json").read_text("utf-8"))["steps"]
    pages = [(each["name"], each["page"].partition("_")[0]) for each in told]
    assert pages == list(zip(gpu_page.RUNGS, ["02", "03", "04", "05", "06", "09", "10"], strict=True))
    for step in gpu_page.RUNGS:
        assert (tmp_path / "gpu" / f"{step}.wgsl").read_text("utf-8") == gpu_page.source(step)


def test_a_rungs_page_offers_it_beside_the_one_before_and_has_its_exercise():
    assert "Run coalesced and tiled on my GPU" in gpu_page.beside_the_chart("en", "tiled")
    said = gpu_page.exercise("en", "tiled")
    assert gpu_page.stub("tiled") in said and gpu_page.source("tiled") in said and "TILE = 16" in said
