"""Replaces the macros of OpenCL source, so that what is left is C, each line where it was."""

import re

import pcpp

BALANCED = rb"[^()]*"
for _ in range(8):  # brackets within brackets, as deep as anyone writes them
    BALANCED = rb"[^()]*(?:\(" + BALANCED + rb"\)[^()]*)*"
ATTRIBUTE = re.compile(rb"\b(?:__attribute(?:__)?|_Pragma)\s*\(" + BALANCED + rb"\)")


class TraceError(RuntimeError):
    """A source that cannot be followed, or an access that lies in no array; the message says where."""


class Expander(pcpp.Preprocessor):
    """Replaces macros. `refused`: what it met that only the driver's compiler can answer."""

    def __init__(self):
        super().__init__()
        self.refused, self.line = [], 0

    def on_error(self, file, line, message):
        """pcpp calls this for what is wrong with a directive; what else is refused comes here, too."""
        self.refused.append(f"line {line}: {message}")

    def on_directive_handle(self, directive, tokens, if_passthru, preceding):
        """pcpp calls this for each directive that it knows."""
        self.line = directive.lineno
        if directive.value in ("include", "include_next", "line"):
            self.on_error("", directive.lineno, f"#{directive.value} is not followed")
            raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)
        return super().on_directive_handle(directive, tokens, if_passthru, preceding)

    def on_directive_unknown(self, directive, tokens, if_passthru, preceding):
        """pcpp calls this for each directive that it does not know."""
        if directive.value == "pragma" and (not tokens or tokens[0].value != "OPENCL"):
            raise pcpp.OutputDirective(pcpp.Action.IgnoreAndRemove)  # such as unroll, which changes no access
        return super().on_directive_unknown(directive, tokens, if_passthru, preceding)

    def on_unknown_macro_in_defined_expr(self, token):
        """pcpp calls this for defined(X) with an X that the source does not define."""
        return bool(self.on_unknown_macro_in_expr(token.value))

    def on_unknown_macro_in_expr(self, name):
        """Refuse a driver's macro in #if, by its name; C takes any other that is not defined for 0."""
        if name.startswith(("__", "cl_", "CL_")):
            self.on_error("", self.line, f"{name} is a macro that only the driver knows")
        return 0


def expand(source, parameters):
    """The source without comments and macros; each line, and a macro's text, stays where it is."""
    expander = Expander()
    for name in ("__PCPP__", "__DATE__", "__TIME__"):
        expander.undef(name)
    for name, value in {"true": 1, "false": 0, **parameters}.items():  # OpenCL C has these two as macros
        expander.define(f"{name} {value}")
    expander.parse(source)
    pieces, line = [], 1
    for token in iter(expander.token, None):
        if token.lineno > line:
            pieces.append("\n" * (token.lineno - line))
            line = token.lineno
        pieces.append(re.sub(r"\s+", " ", token.value) if token.value.isspace() else token.value)
    if expander.refused:
        raise TraceError(expander.refused[0])
    return "".join(pieces) + "\n"


def without_attributes(text):
    """The text with blanks for each __attribute__((...)) and _Pragma("..."): none of them touches memory."""
    return ATTRIBUTE.sub(lambda found: re.sub(rb"[^\n]", b" ", found[0]), text)
