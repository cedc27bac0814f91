"""How another process finds the application: names and paths, never pickled objects.

A script that is started as `python script.py` is `__main__`, and so are the handlers in it. Another process loads that
file again under the name `__lw_main__`, so that its `if __name__ == "__main__"` block does not run there.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import asdict, dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from lanework.errors import ConfigError

MAIN = "__lw_main__"

_in_child = False


def in_child() -> bool:
    """True in a child process of a pool. A worker must not start there: a script without a `__main__` guard would
    otherwise start workers that start children that start workers."""
    return _in_child


def enter_child() -> None:
    global _in_child  # noqa: PLW0603 - a property of the process
    _in_child = True


@dataclass(frozen=True, slots=True)
class Target:
    """Where the application is: `module:attribute`, and what a fresh interpreter needs to import it."""

    module: str  # "__main__" is what the process was started with, see `main`
    attribute: str = ""  # empty: the only application in the module
    main: str = ""  # absolute file of the script, or the module of `python -m`
    path: tuple[str, ...] = ()
    cwd: str = ""

    @classmethod
    def parse(cls, text: str) -> Target:
        """`pkg.module:app`, `pkg.module`, `file.py:app` or `file.py`."""
        module, _, attribute = text.partition(":")
        if module.endswith(".py"):
            file = Path(module).absolute()
            return cls("__main__", attribute, str(file), (str(file.parent), *_search_path()), str(Path.cwd()))
        if not module or not all(part.isidentifier() for part in module.split(".")):
            raise ConfigError(f"expected an application as module:attribute, got {text!r}")
        return cls(module, attribute, _main_source(), _search_path(), str(Path.cwd()))

    @classmethod
    def of(cls, app: object) -> Target:
        """The place of an application that lives in this process."""
        module, attribute = _place(app)
        main = _main_source()
        if module == "__main__" and not main:
            raise ConfigError("executor='process' needs the application in a file: this interpreter has no script to load again")
        return cls(module, attribute, main, _search_path(), str(Path.cwd()))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Target:
        return cls(**{**data, "path": tuple(data["path"])})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def enter(self) -> None:
        """Makes this interpreter search where the other one did. For a process of our own, before `load`."""
        sys.path[:] = self.path
        sys.argv[:] = [self.main or self.module]
        os.chdir(self.cwd)

    def load(self) -> Any:
        module = self._import(self.module)
        if not self.attribute:
            return _only_app(module)
        found: Any = module
        for name in self.attribute.split("."):
            found = getattr(found, name, None)
        if not _is_app(found):
            raise ConfigError(f"{self} is not a Lanework application, it is {type(found).__name__}")
        return found

    def handler(self, app: Any, name: str, home: str) -> Any:
        """The handler of a job type; `home`, the module that declares it, is imported when nothing else did."""
        found = app.handlers.get(name)
        if found is None and home:
            self._import(home)
            found = app.handlers.get(name)
        if found is None and hasattr(app, "_declare_own"):
            app._declare_own()
            found = app.handlers.get(name)
        if found is None:
            raise ConfigError(f"job type {name!r} is not declared by {self}: import its module where the application is")
        return found

    def _import(self, name: str) -> ModuleType:
        if name != "__main__":
            return importlib.import_module(name)
        return sys.modules.get(MAIN) or _load_main(self.main)

    def __str__(self) -> str:
        place = self.main if self.module == "__main__" else self.module
        return f"{place}:{self.attribute}" if self.attribute else place


def _load_main(source: str) -> ModuleType:
    module = _load_file(source) if os.sep in source else importlib.import_module(source)
    # Both names, as multiprocessing does: what the script's code asks `__main__` for must be the script.
    sys.modules[MAIN] = sys.modules["__main__"] = module
    return module


def _load_file(file: str) -> ModuleType:
    spec = spec_from_file_location(MAIN, file, loader=SourceFileLoader(MAIN, file))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[MAIN] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[MAIN]
        raise
    return module


def _main_source() -> str:
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in ("__main__", MAIN):
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return str(Path(file).absolute()) if file and Path(file).is_file() else ""


def _search_path() -> tuple[str, ...]:
    # The other interpreter may stand elsewhere when it resolves these.
    return tuple(str(Path(entry).absolute()) for entry in sys.path)


def _place(app: object) -> tuple[str, str]:
    main = sys.modules["__main__"]
    found: dict[str, str] = {}
    for module_name, module in list(sys.modules.items()):
        # By identity: multiprocessing has the same module as `__mp_main__` too.
        place = "__main__" if module is main else module_name
        found.update((place, name) for name, value in _globals(module) if value is app)
    if not found:
        raise ConfigError("executor='process' needs the application as a global of a module: a child process imports it from there")
    # Importing a module is cheaper and safer than loading a script again; the script is loaded only for handlers in it.
    module_name = next((name for name in found if name != "__main__"), "__main__")
    return module_name, found[module_name]


def _globals(module: ModuleType) -> list[tuple[str, Any]]:
    return list(getattr(module, "__dict__", {}).items())


def _is_app(value: Any) -> bool:
    if isinstance(value, (type, ModuleType)):
        return False
    try:
        return callable(getattr(getattr(value, "handlers", None), "get", None))
    except Exception:
        return False  # a lazy proxy that cannot be looked at


def _only_app(module: ModuleType) -> Any:
    found = {id(value): (name, value) for name, value in _globals(module) if _is_app(value)}
    if len(found) != 1:
        _refuse(module, sorted(name for name, _ in found.values()))
    return next(iter(found.values()))[1]


def _refuse(module: ModuleType, names: list[str]) -> NoReturn:
    where = getattr(module, "__file__", None) or module.__name__
    if not names:
        raise ConfigError(f"{where} has no Lanework application: give it as module:attribute")
    raise ConfigError(f"{where} has several applications ({', '.join(names)}): say which as module:attribute")
