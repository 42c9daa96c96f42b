"""A bar of tqdm's for what takes long. It is gone when the work is done, and leaves nothing in a notebook.

In a notebook it is a live widget that is shown without any text beside it, so that neither a stored page nor nbval's
comparison ever holds it. Where there is neither a notebook nor a terminal, nothing is shown.
"""

import time
from contextlib import AbstractContextManager, suppress

from tqdm import tqdm

from .terminal import in_a_notebook

PATIENCE = 2  # seconds without a bar
WIDGET = "application/vnd.jupyter.widget-view+json"


class ProgressBar(AbstractContextManager):
    """Shows a bar while something takes long.

    `total`: seconds at most, or None where nobody knows. `patience`: seconds before the bar is shown.
    """

    def __init__(self, what: str, total: float | None = None, patience: float | None = None):
        self.what, self.total, self.start = what, total, time.monotonic()
        self.patience = PATIENCE if patience is None else patience
        self.bar = self.place = None

    def update(self, done: float, note: str = "") -> None:
        """Say how many seconds are done, and what else there is to tell."""
        if time.monotonic() - self.start < self.patience:
            return
        if self.bar is None:
            self.bar = self.shown()
        text = f"{self.what}: {done:.0f} s" + (f" of at most {self.total:.0f} s" if self.total else "")
        self.bar.n = min(done, self.total or done)
        self.bar.set_description_str(f"{text} {note}".rstrip())

    def shown(self) -> tqdm:
        """A new bar: in a notebook in a place of its own, elsewhere on a terminal."""
        if in_a_notebook():
            with suppress(ImportError):  # where ipywidgets are missing there is no bar
                from IPython.display import display
                from tqdm.notebook import tqdm as widget

                bar = widget(total=self.total, leave=False, display=False, bar_format="{desc}{bar}")
                reference = {"version_major": 2, "version_minor": 0, "model_id": bar.container.model_id}
                self.place = display({WIDGET: reference}, raw=True, display_id=True)
                return bar
            return tqdm(disable=True)
        form = "{desc} |{bar:20}|" if self.total else "{desc}"
        return tqdm(total=self.total, leave=False, disable=None, bar_format=form)  # None: only on a terminal

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.n = self.bar.total or 0  # of what is not done tqdm would leave the widget
            self.bar.close()
        if self.place is not None:
            self.place.update({}, raw=True)  # an empty output, which no page stores
