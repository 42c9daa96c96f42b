"""What a picture was made from, before it became pixels."""

import pytest
from matplotlib.figure import Figure

from helpers.pictures import Picture


@pytest.fixture
def drawn(monkeypatch) -> list[Figure]:
    """The figures of the pictures that a test makes, in order. No pixels are made."""
    figures = []

    def keep(picture, figure, text):
        figures.append(figure)
        picture.text, picture.width = text, 0

    monkeypatch.setattr(Picture, "__init__", keep)
    return figures
