"""What `make mutants` changes, and by which tests. (mutmut itself takes minutes.)"""

import re
import tomllib

import mutation
import pytest
from distribution import ALONE


def test_a_room_or_a_file_of_it_is_tried_by_the_rooms_tests():
    files, tests = mutation.chosen("clock")
    assert {"helpers/clock/__init__.py", "helpers/clock/timing.py"} < set(files) and tests == "tests/clock"
    assert mutation.chosen("clock/timing.py") == (["helpers/clock/timing.py"], "tests/clock")


@pytest.mark.parametrize("package", ALONE)
def test_a_package_beside_helpers_is_tried_by_the_tests_in_its_folder(package):
    files, tests = mutation.chosen(package)
    assert f"src/{package}/__init__.py" in files and tests == f"src/{package}/tests"
    assert not any("tests" in one for one in files)


@pytest.mark.parametrize("room", ["kitchen", "judge/kitchen.py", "opencl", "judge/__pycache__/x", "../tests"])
def test_what_is_no_room_is_refused_with_those_there_are(room):
    with pytest.raises(ValueError, match=rf"there is no {re.escape(repr(room))} .*; name one of .*launch, "):
        mutation.chosen(room)


def test_the_copy_has_the_checkouts_files_and_settings_for_one_room(tmp_path, monkeypatch):
    monkeypatch.setattr(mutation, "COPY", tmp_path)
    mutation.copy(["helpers/exercises/rules.py"], ["tests/exercises"])
    copied, own = ((at / "helpers/exercises/rules.py").read_text("utf-8") for at in (tmp_path, mutation.ROOT))
    assert copied == own
    settings, kept = (tomllib.loads((at / "pyproject.toml").read_text())["tool"] for at in (tmp_path, mutation.ROOT))
    chosen = {"only_mutate": ["helpers/exercises/rules.py"], "pytest_add_cli_args_test_selection": ["tests/exercises"]}
    assert settings.pop("mutmut") == kept.pop("mutmut") | chosen and settings == kept
