"""What does a notebook show in place of a traceback? One line, where a cell was stopped or lacks what to install."""

import functools
import json
import symtable
import sys
from pathlib import Path

from . import language, needs

PAGES = Path(__file__).parent.parent / "notebooks"
AS_STORED = "Here and below, such cells show what is stored of them."


def prepare(shell: object) -> None:
    """Let IPython's shell answer such errors in one line, and draw what a verdict found, below its text."""

    def draw(report):  # a judge draws nothing
        from .pictures.verdicts import show_verdict

        show_verdict(report)

    shell.display_formatter.ipython_display_formatter.for_type_by_name("kernel_judge.report", "Report", draw)
    answer_in_one_line(shell)


def answer_in_one_line(shell: object) -> None:
    """Let the shell say in one line that a cell was stopped, or lacks something that is not installed.

    In the second case a cell that the course has stored as it was run shows its stored outputs, and ends well. What it
    would have assigned is not there afterwards, and so a cell that uses that is shown in the same way. A cell of the
    reader's own, and any cell where the course's pages are not on the disk, ends in its error.
    """
    usual = shell.showtraceback  # of all errors, since `set_custom_exc` misses a stop between two statements of a cell
    lacks, answered = {}, []  # {a name that is not there since: the line}; errors of cells that were shown

    def show(raised=None, *how, **more):  # `raised`: as sys.exc_info() has it
        error = (raised or sys.exc_info())[1]
        if isinstance(error, KeyboardInterrupt):  # the cell ends with an error all the same, so that "Run All" ends
            print("Stopped. Nothing is broken: run the cell again.", file=sys.stderr)
        elif not (text := lacks.get(error.name) if type(error) is NameError else needs.line_of(error)):
            usual(raised, *how, **more)
        elif shown_as_stored(shell, text, lacks):
            answered.append(error)

    def go_on(result):  # so that the cells below run
        if result.error_in_exec in answered:
            result.error_in_exec = None

    shell.showtraceback = show
    shell.events.register("post_run_cell", go_on)


def shown_as_stored(shell: object, text: str, lacks: dict[str, str]) -> bool:
    """Print that line, and show what is stored of the cell that ran last. Returns whether anything is."""
    source, code = shell.history_manager.input_hist_raw[-1], shell.history_manager.input_hist_parsed[-1]
    outputs = stored(language.NOW[0]).get(source.rstrip("\n"))
    if outputs is None:
        print(text, file=sys.stderr)
        return False
    for symbol in symtable.symtable(code, "a cell", "exec").get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            lacks[symbol.get_name()] = text
        if symbol.is_assigned():  # what it has imported stays
            shell.user_ns.pop(symbol.get_name(), None)
    shell.display_pub.clear_output()  # of what it printed before, which is among the stored
    print(text, AS_STORED, file=sys.stderr, flush=True)  # above what follows on the other stream
    for output in outputs:
        if output["output_type"] == "stream":
            print("".join(output["text"]), end="")
        else:  # a file keeps long texts as lists of lines
            data = {kind: "".join(text) for kind, text in output["data"].items()}
            shell.display_pub.publish(data, output["metadata"])
    return True


@functools.cache
def stored(chosen: str) -> dict[str, list[dict]]:
    """{source of a cell: its outputs} of the course's pages in that language; empty where they are not on the disk."""
    folder = PAGES if chosen == language.ENGLISH else PAGES / chosen
    pages = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[0-9]*.ipynb"))]
    return {"".join(cell["source"]): cell.get("outputs") for page in pages for cell in page["cells"]}
