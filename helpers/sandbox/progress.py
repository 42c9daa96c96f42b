"""A bar for what takes long. It is gone when the work is done, and leaves nothing in a notebook.

In a notebook it is a live widget that is shown without any text beside it, so that neither a stored page nor nbval's
comparison ever holds it. In a terminal it is tqdm's. Where there is neither, nothing is shown.
"""

import time

from tqdm import tqdm

PATIENCE = 10  # seconds without a bar
WIDGET = "application/vnd.jupyter.widget-view+json"


class Progress:
    """A context manager that shows a bar while something takes long.

    `total`: seconds at most, or None where nobody knows. `patience`: seconds before the bar is shown.
    """

    def __init__(self, what: str, total: float | None = None, patience: float | None = None):
        self.what, self.total, self.start = what, total, time.monotonic()
        self.patience = PATIENCE if patience is None else patience
        self.bar = None

    def __enter__(self):
        return self

    def update(self, done: float, note: str = "") -> None:
        """Say how many seconds are done, and what else there is to tell."""
        if time.monotonic() - self.start < self.patience:
            return
        if self.bar is None:
            self.bar = notebook_bar(self.total) if in_a_notebook() else terminal_bar(self.total)
        text = f"{self.what}: {done:.0f} s" + (f" of at most {self.total:.0f} s" if self.total else "")
        self.bar.say(min(done, self.total or done), " ".join(filter(None, [text, note])))

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()


def in_a_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    try:
        return type(get_ipython()).__name__ == "ZMQInteractiveShell"
    except NameError:
        return False


def terminal_bar(total):
    """tqdm's bar, which it leaves out where the errors' stream is no terminal."""
    return TerminalBar(
        tqdm(total=total, leave=False, disable=None, bar_format="{desc} |{bar:20}|" if total else "{desc}")
    )


class TerminalBar:
    """A bar of tqdm's."""

    def __init__(self, bar):
        self.bar = bar

    def say(self, done, text):
        """Show how much is done, and the text."""
        self.bar.n = done
        self.bar.set_description_str(text)

    def close(self):
        """Take it away."""
        self.bar.close()


def notebook_bar(total):
    """A widget; where there is no ipywidgets, a bar that is never seen."""
    try:
        return NotebookBar(total)
    except ImportError:
        return TerminalBar(tqdm(disable=True))


class NotebookBar:
    """A widget, shown by its reference alone."""

    def __init__(self, total):
        import ipywidgets
        from IPython.display import display

        self.widget = ipywidgets.FloatProgress(max=total or 1.0, bar_style="info")
        self.label = ipywidgets.Label()
        self.box = ipywidgets.HBox([self.label, self.widget])
        reference = {"version_major": 2, "version_minor": 0, "model_id": self.box.model_id}
        self.place = display({WIDGET: reference}, raw=True, display_id=True)

    def say(self, done, text):
        """Show how much is done, and the text."""
        self.label.value, self.widget.value = text, done

    def close(self):
        """Take it away, and leave an empty output in its place."""
        self.place.update({}, raw=True)
        for widget in (self.box, self.label, self.widget):
            widget.close()
