"""What does a notebook show in place of a traceback? One line, where a cell was stopped or lacks what to install."""

import functools
import json
import symtable
import sys
from pathlib import Path

from . import needs

PAGES = Path(__file__).parent.parent / "notebooks"
AS_STORED = "Here and below, such cells show what is stored of them."


def prepare(shell: object) -> None:
    """Let IPython's shell answer such errors in one line, and draw what a verdict found, below its text."""

    def draw(report):  # a judge draws nothing
        from .pictures.verdicts import show_verdict

        show_verdict(report)

    shell.display_formatter.ipython_display_formatter.for_type_by_name("kernel_judge.report", "Report", draw)
    Answers(shell)


class Answers:
    """Answers a stop, and what is not installed, in one line. `shell`: IPython's, which runs the notebook.

    A cell that lacks something, and that the course has stored as it was run, shows its stored outputs, and ends well.
    What it would have assigned is not there afterwards, and so a cell that uses that is shown in the same way. A cell
    of the reader's own has the line alone, and ends in its error.
    """

    def __init__(self, shell):
        self.shell, self.usual, self.lacks, self.shown = shell, shell.showtraceback, {}, False
        shell.showtraceback = self.show  # of all errors: `set_custom_exc` misses a stop between two statements
        shell.events.register("post_run_cell", self.go_on)

    def show(self, raised=None, *how, **more):
        """In place of IPython's traceback. `raised`: as sys.exc_info() has it."""
        error = (raised or sys.exc_info())[1]
        if isinstance(error, KeyboardInterrupt):  # the cell ends with an error all the same, so that "Run All" ends
            print("Stopped. Nothing is broken: run the cell again.", file=sys.stderr)
        elif not self.answers(error):
            self.usual(raised, *how, **more)

    def answers(self, error: BaseException) -> bool:
        """Whether it comes of something that is not installed, or that is not there since; then that is said."""
        text = self.lacks.get(error.name) if type(error) is NameError else needs.line_of(error)
        if not text:
            return False
        history = self.shell.history_manager
        outputs = stored_outputs(history.input_hist_raw)
        self.shown = outputs is not None
        if self.shown:
            self.forget(history.input_hist_parsed[-1], text)
            self.shell.display_pub.clear_output()  # of what it printed before, which is among the stored
            text = f"{text} {AS_STORED}"
        print(text, file=sys.stderr, flush=True)  # above what follows on the other stream
        for output in outputs or ():
            if output["output_type"] == "stream":
                print("".join(output["text"]), end="")
            else:  # a file keeps long texts as lists of lines
                data = {kind: "".join(text) for kind, text in output["data"].items()}
                self.shell.display_pub.publish(data, output["metadata"])
        return True

    def forget(self, source, text):
        """Note all that the cell would have assigned, and take away what it has; what it has imported stays."""
        for symbol in symtable.symtable(source, "a cell", "exec").get_symbols():
            if symbol.is_assigned() or symbol.is_imported():
                self.lacks[symbol.get_name()] = text
            if symbol.is_assigned():
                self.shell.user_ns.pop(symbol.get_name(), None)

    def go_on(self, result):
        """Let a cell that was shown end well, so that the cells below it run. Called by the shell after each cell."""
        if self.shown:
            result.error_in_exec, self.shown = None, False


def stored_outputs(ran: list[str]) -> list[dict] | None:
    """What is stored of the last cell of `ran`, in the page that has most of these cells; None if nothing is."""
    last = ran[-1].rstrip("\n")
    pages = [page for page in stored_pages() if last in page]
    return max(pages, key=lambda page: len(page.keys() & {*ran}), default={}).get(last)


@functools.cache
def stored_pages() -> list[dict[str, list[dict]]]:
    """The course's pages, each as {source of a cell: its outputs}; none where they are not on the disk."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PAGES.rglob("[0-9]*.ipynb"))]
    return [{"".join(c["source"]): c.get("outputs") for c in json.loads(text)["cells"]} for text in texts]
