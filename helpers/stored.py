"""What does a cell show that needs what is not installed? One line, and what the course has stored of that cell."""

import functools
import json
import symtable
import sys

from . import needs

PAGES = needs.COURSE / "notebooks"


class Stored:
    """Answers such errors in a notebook, so that the page goes on. `shell`: IPython's, which runs the notebook.

    A cell that the course has stored as it was run shows its stored outputs, and ends well. What it would have assigned
    is not there afterwards, and so a cell that uses that is shown in the same way. A cell of the reader's own, and any
    cell where the course's pages are not on the disk, has the line alone, and ends in its error.
    """

    def __init__(self, shell):
        self.shell, self.lacks, self.told, self.shown = shell, {}, set(), False
        shell.events.register("post_run_cell", self.go_on)

    def __call__(self, error: BaseException) -> bool:
        """Whether the error was answered: it comes of something that is not installed, or that is not there since."""
        text = self.lacks.get(error.name) if type(error) is NameError else needs.line_of(error)
        if not text:
            return False
        history = self.shell.history_manager
        outputs = stored_outputs(history.input_hist_raw)
        self.shown = outputs is not None
        if self.shown:
            self.forget(history.input_hist_parsed[-1], text)
            self.shell.display_pub.clear_output()  # of what it printed before, which is among the stored
            text = self.with_stored(text)
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

    def with_stored(self, text):
        """The line above stored outputs, in full the first time."""
        missing = text.partition(". ")[0].removesuffix(".")
        if missing in self.told:
            return f"As stored: {missing}."
        self.told.add(missing)
        return f"{text} Here and below, such cells show what is stored of them."

    def go_on(self, result):
        """Let a cell that was shown end well, so that the cells below it run. Called by the shell after each cell."""
        if self.shown:
            result.error_in_exec, self.shown = None, False


def stored_outputs(ran: list[str]) -> list[dict] | None:
    """What is stored of the last cell of `ran`, in the page that has most of these cells; None if nothing is."""
    last = ran[-1].rstrip("\n")
    having = [page for page in stored_pages() if last in page]
    page = max(having, key=lambda page: len(page.keys() & {*ran}), default={})
    return page.get(last)


@functools.cache
def stored_pages() -> list[dict[str, list[dict]]]:
    """The course's pages, each as {source of a cell: its outputs}; none where they are not on the disk."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PAGES.rglob("[0-9]*.ipynb"))]
    return [{"".join(c["source"]): c.get("outputs") for c in json.loads(text)["cells"]} for text in texts]
