"""`@tdsl.jit`: NumPy functions, translated and compiled per element types and ranks of their arguments."""
import copy
import functools
import inspect
import os
import types
import typing
import warnings

import numpy as np

from . import compiled, explained, translation
from .errors import ArgumentError, CompileError, Different, Error, RunError, TranslationError
from .program import PlainCall, Program

Arguments = typing.Dict[str, typing.Any]
_MOST_REPEATED = 64  # calls of a function


class _Variant:
    """A function for some element types, ranks and equalities of extents."""

    def __init__(self, function: types.FunctionType, examples: typing.List[Arguments], options: typing.Dict[str, typing.Any]) -> None:
        self.translated = translation.translated(function, examples)
        self.file = function.__code__.co_filename
        self._sizes: typing.Set[typing.Any] = set()  # of arguments that fit
        made = self.translated
        if not os.path.isdir(made.folder):
            made.folder = compiled.built(None, made.text, False)
            translation.remember_folder(function, examples, made.folder)
        self.program: Program = compiled.loaded(made.folder)(**options)
        named = {name for extents in made.shapes.values() for _, terms in extents for name in terms}
        self._whole = [parameter for parameter, option in made.options.items() if option in named]
        inputs = self.program.library.inputs
        self._inputs = [(parameter, option) for parameter, option in made.options.items() if option in inputs]
        self._params = [(parameter, option) for parameter, option in made.options.items() if option not in inputs]
        outputs = list(dict.fromkeys([*made.results, *made.updated]))
        self._wanted = dict.fromkeys(outputs)
        self._places = {name: place for place, name in enumerate(outputs)}
        self._returned = [self._places[name] for name in made.results]

    def fits(self, arguments: Arguments) -> bool:
        sizes = tuple([*(arguments[name].shape for name in self.translated.shapes), *(int(arguments[name]) for name in self._whole)])
        if sizes in self._sizes:
            return True
        if not self.translated.fits(arguments):
            return False
        self._sizes.add(sizes)
        return True

    def repeated(self, arguments: Arguments) -> typing.Optional["_Repeated"]:
        """After a call: how to make it again; None if its arrays are not passed in place."""
        plain = self.program.plain({option: arguments[parameter] for parameter, option in self._inputs}, self._wanted)
        return None if plain is None else _Repeated(self, plain, arguments)

    def __call__(self, arguments: Arguments) -> typing.Any:
        inputs = {option: arguments[parameter] for parameter, option in self._inputs}
        params = {option: arguments[parameter] for parameter, option in self._params}
        self.require_alone(arguments)
        try:
            results = self.program.values(inputs, params, self._wanted)
        except RunError as error:
            raise self._located(error) from None
        return self._returns(results, arguments)

    def require_alone(self, arguments: Arguments) -> None:
        for parameter in self.translated.updated.values():
            _require_alone(parameter, arguments)

    def _located(self, error: RunError) -> RunError:
        return RunError(str(error), (self.file, translation.python_line(self.translated.text, error.line)))

    def _returns(self, results: typing.List[typing.Any], arguments: Arguments) -> typing.Any:
        # Inputs are read while outputs are written, so the program has written to other memory.
        for output, parameter in self.translated.updated.items():
            place, array = self._places[output], arguments[parameter]
            array[...] = results[place]
            results[place] = array
        returned = tuple([results[place] for place in self._returned])
        return returned if self.translated.several else returned[0] if returned else None


class _Repeated:
    """A call whose arguments have the types, layouts and whole numbers of an earlier one: nothing is looked up or converted."""

    def __init__(self, variant: _Variant, plain: PlainCall, arguments: Arguments) -> None:
        self.variant, self._plain = variant, plain
        places = {parameter: place for place, parameter in enumerate(arguments)}
        self._names = list(arguments)
        self._arrays = [places[parameter] for parameter, _ in variant._inputs]
        self._options = [(option, places[parameter]) for parameter, option in variant._params]
        values = {option: arguments[parameter] for parameter, option in variant._params}
        # Floats are not part of the key.
        self._words = None if float in map(type, values.values()) else variant.program.library.words(values)

    def __call__(self, args: typing.Tuple[typing.Any, ...]) -> typing.Any:
        variant = self.variant
        words = self._words
        if words is None:
            words = variant.program.library.words({option: args[place] for option, place in self._options})
        arguments = dict(zip(self._names, args)) if variant.translated.updated else {}
        variant.require_alone(arguments)
        try:
            results = variant.program.repeat(self._plain, words, [args[place] for place in self._arrays])
        except RunError as error:
            raise variant._located(error) from None
        return variant._returns(results, arguments)


def _layout_of(args: typing.Tuple[typing.Any, ...]) -> typing.Any:
    """The key of repeated calls; None: the call is not repeated."""
    key: typing.List[typing.Any] = []
    for value in args:
        kind = type(value)
        if kind is np.ndarray and value.ndim:  # one without dimensions is a number
            key += (value.dtype, value.shape, value.strides)
        elif kind is int or kind is bool:
            key += (kind, value)
        elif kind is float:
            key.append(kind)
        else:
            return None
    return tuple(key)


def _require_alone(parameter: str, arguments: Arguments) -> None:
    array = arguments[parameter]
    if not array.flags.writeable:
        raise ArgumentError(f"`{parameter}` is changed by the function, but the array cannot be written")
    for other, value in arguments.items():
        if other != parameter and isinstance(value, np.ndarray) and np.may_share_memory(array, value):
            raise ArgumentError(f"`{parameter}` and `{other}` may share memory, and the function changes `{parameter}`: pass a copy")


class Function:
    """A NumPy function that runs as a TDSL program. Made by `jit`."""

    def __init__(self, function: types.FunctionType, fallback: bool, options: typing.Dict[str, typing.Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._fallback, self._options = fallback, options
        self._signature = inspect.signature(function)
        self._names = tuple(self._signature.parameters)
        self._variants: typing.Dict[typing.Any, typing.List[_Variant]] = {}
        self._examples: typing.Dict[typing.Any, typing.List[Arguments]] = {}
        self._refused: typing.Set[typing.Any] = set()
        self._last: typing.Optional[_Variant] = None
        self._repeated: typing.Dict[typing.Any, _Repeated] = {}  # by _layout_of

    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        layout = None if kwargs else _layout_of(args)
        repeated = self._repeated.get(layout)
        if repeated is not None:
            self._last = repeated.variant
            return repeated(args)
        arguments = self._bound(args, kwargs)
        key = tuple([_kind(value) for value in arguments.values()])
        if key in self._refused:
            return self.function(*args, **kwargs)
        try:
            variant = self._variant(key, arguments)
        except (TranslationError, CompileError) as error:
            if not self._fallback:
                raise
            self._refused.add(key)
            warnings.warn(f"{self.function.__name__} runs in Python: {error}", RuntimeWarning, stacklevel=2)
            return self.function(*args, **kwargs)
        result = variant(arguments)
        if layout is not None and len(args) == len(self._names):
            again = variant.repeated(arguments)
            if again is not None:
                if len(self._repeated) >= _MOST_REPEATED:
                    self._repeated.clear()
                self._repeated[layout] = again
        return result

    def _bound(self, args: typing.Tuple[typing.Any, ...], kwargs: typing.Dict[str, typing.Any]) -> Arguments:
        if not kwargs and len(args) == len(self._names):
            return dict(zip(self._names, args))
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _variant(self, key: typing.Any, arguments: Arguments) -> _Variant:
        variants = self._variants.setdefault(key, [])
        for variant in variants:
            if variant.fits(arguments):
                self._last = variant
                return variant
        # Extents that were equal so far are not: the arguments are one more example.
        examples = self._examples.setdefault(key, [])
        light = {name: translation.example(value) for name, value in arguments.items()}
        self._last = _Variant(self.function, [*examples, light], self._options)
        examples.append(light)
        variants.append(self._last)
        return self._last

    @property
    def source(self) -> str:
        """The TDSL program of the last call."""
        if self._last is None:
            raise Error(f"{self.function.__name__} has not been called: the types of its arguments are unknown")
        return self._last.translated.text

    def verify(self, *args: typing.Any, rtol: typing.Optional[float] = None, **kwargs: typing.Any) -> float:
        """Calls the function in Python and as a program, on copies of the arguments, and returns the largest difference of results and changed arrays,
        relative to the largest element. Raises Different if it is above `rtol` (default: 1e-9, 1e-4 for f32)."""
        from .importer import verification

        arguments = self._bound(args, kwargs)
        fresh = copy.deepcopy(arguments)
        wanted, after, _ = verification.reference(self.function, arguments)
        variant = self._variant(tuple([_kind(value) for value in arguments.values()]), arguments)
        result = variant(fresh)
        results = result if variant.translated.several else () if result is None else (result,)
        if len(results) != len(wanted):
            raise Different(f"{len(results)} results instead of {len(wanted)}")
        pairs = [*zip(variant.translated.results, results, wanted), *((name, fresh[name], after[name]) for name in variant.translated.updated.values())]
        least = verification.rounding(arguments)
        return max((verification.difference(name, np.asarray(got), np.asarray(want), rtol, least) for name, got, want in pairs), default=0.0)

    def explain(self, *args: typing.Any, ranks: int = 1, memory: typing.Optional[str] = None, **kwargs: typing.Any) -> explained.Plan:
        """The plan of this call on `ranks` ranks, without running it."""
        arguments = self._bound(args, kwargs)
        key = tuple([_kind(value) for value in arguments.values()])
        light = {name: translation.example(value) for name, value in arguments.items()}
        examples = [*self._examples.get(key, []), light]
        made = translation.translated(self.function, examples)
        return explained.plan(made.text, {option: arguments[parameter] for parameter, option in made.options.items()}, ranks, memory)


def _kind(value: typing.Any) -> typing.Any:
    """The part of an argument that selects variants: its type and rank."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    return type(value)


@typing.overload
def jit(function: typing.Callable[..., typing.Any]) -> Function: ...
@typing.overload
def jit(*, fallback: bool = False, **options: typing.Any) -> typing.Callable[[typing.Callable[..., typing.Any]], Function]: ...


def jit(function: typing.Any = None, *, fallback: bool = False, **options: typing.Any) -> typing.Any:
    """A decorator for NumPy functions. A call is translated per element types and ranks of its arguments (docs/import.md has the subset), compiled and
    cached; sizes stay free. `fallback`: what is not translated runs in Python, with a warning that names the line. Further keywords are options of the
    command line, such as `threads=4`. A call raises TranslationError, CompileError, ArgumentError, RunError, OutOfMemory."""
    def decorated(inner: typing.Any) -> Function:
        if not isinstance(inner, types.FunctionType):
            raise TypeError(f"a function is expected, not {type(inner).__name__}")
        return Function(inner, fallback, options)

    return decorated if function is None else decorated(function)
