"""Arguments of calls of known functions, by position or keyword."""
import dataclasses
import typing

from .errors import Place


@dataclasses.dataclass(frozen=True)
class Entry:
    """A name of the table: its parameters in NumPy's order, those without a default first, and what makes its value."""
    required: tuple
    optional: tuple
    many: bool  # any number of further positional arguments, as `rest`
    handler: typing.Callable
    named: tuple = ()  # keywords only


def entry(signature, handler):
    """`"a axis= keepdims="`: a is required, the others are not; `*rest` takes more, and parameters behind it are keywords."""
    words = signature.split()
    named = tuple(w[:-1] for w in words[words.index("*rest"):] if w[-1] == "=") if "*rest" in words else ()
    return Entry(tuple(w for w in words if w[-1] != "=" and w[0] != "*"), tuple(w[:-1] for w in words if w[-1] == "="), "*rest" in words, handler, named)


def bind_arguments(known, node, receiver, name):
    """Parameter -> node; the receiver of a method is the value of the first parameter."""
    order = [*known.required, *known.optional]
    given = {}
    if receiver is not None:
        given[order[0]] = receiver
        order = order[1:]
    positional, places = list(node.args), [parameter for parameter in order if parameter not in known.named]
    if len(positional) > len(places):
        if not known.many:
            raise Place(positional[len(places)], "import-option", f"argument {len(places) + 1} of {_shown(name)} is not translated")
        given["rest"] = positional[len(places):]
    given.update(zip(places, positional))
    for keyword in node.keywords:
        if keyword.arg not in order:
            raise Place(keyword.value, "import-option", f"`{keyword.arg}=` of {_shown(name)} is not translated")
        given[keyword.arg] = keyword.value
    missing = [parameter for parameter in known.required if parameter not in given]
    if missing:
        raise Place(node, "import-call", f"{_shown(name)} lacks `{missing[0]}`")
    return given


def _shown(name):
    return name if name[0] == "." or "math." in name else f"np.{name}"
