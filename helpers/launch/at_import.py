"""Calls a function as soon as a module has been imported. Who never imports the module waits for neither."""

import importlib.abc
import importlib.util
import pkgutil
import sys


class AtImport(importlib.abc.MetaPathFinder):
    """Finds one module as the other finders do, with a loader that calls the function last."""

    def __init__(self, module: str, function: str):
        self.module, self.function = module, function

    def find_spec(self, name, path, target=None):
        """The spec of that module; None for every other."""
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None:
            return None
        load = spec.loader.exec_module

        def load_and_call(module):
            load(module)
            pkgutil.resolve_name(self.function)()

        spec.loader.exec_module = load_and_call
        return spec


def once_imported(module: str, function: str) -> None:
    """Call a function, "package.module:name", now if that module is loaded, and otherwise right after it is."""
    if module in sys.modules:
        pkgutil.resolve_name(function)()
    else:
        sys.meta_path.insert(0, AtImport(module, function))
