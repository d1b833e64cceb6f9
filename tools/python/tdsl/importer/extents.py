"""Extents of dimensions as linear forms over names, and the names of the dimensions of examples."""

_LETTERS = "nmkpqrs"
_LITERAL = 3  # extents up to this stay numbers
_NEAR = 4  # the largest difference of two extents that counts as affine
_LARGE = 12  # only above it: small extents are close to each other by chance


class Extent:
    """An integer plus multiples of names; a name may be the text of an expression, which is only equal to itself."""

    def __init__(self, number=0, terms=None):
        self.number = number
        self.terms = {name: factor for name, factor in (terms or {}).items() if factor}

    @staticmethod
    def of(name):
        return Extent(0, {name: 1})

    def __add__(self, other):
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor
        return Extent(self.number + other.number, terms)

    def times(self, factor):
        return Extent(self.number * factor, {name: factor * value for name, value in self.terms.items()})

    def __sub__(self, other):
        return self + other.times(-1)

    def __eq__(self, other):
        return isinstance(other, Extent) and self.number == other.number and self.terms == other.terms

    def __hash__(self):
        return hash((self.number, tuple(sorted(self.terms.items()))))

    @property
    def constant(self):
        return None if self.terms else self.number

    def multiply(self, other):
        if self.constant is not None:
            return other.times(self.constant)
        if other.constant is not None:
            return self.times(other.constant)
        return Extent.of(f"{self.factor()} * {other.factor()}")

    def divide(self, number):
        """Rounded down; the caller knows that neither is negative."""
        if self.constant is not None and number.constant:
            return Extent(self.constant // number.constant)
        return Extent.of(f"{self.factor()} / {number.factor()}")

    def factor(self):
        """The text as a factor."""
        code = self.code()
        return code if code.replace("_", "a").isalnum() else f"({code})"

    def code(self):
        text = ""
        for name, factor in self.terms.items():
            size = abs(factor)
            whole = name if size == 1 else f"{size} * {name if name.replace('_', 'a').isalnum() else f'({name})'}"
            text += (" + " if factor > 0 else " - ") + whole if text else whole if factor > 0 else f"-{whole}"
        if not text:
            return str(self.number)
        return text + (f" + {self.number}" if self.number > 0 else f" - {-self.number}" if self.number else "")


def product(extents):
    result = Extent(1)
    for extent in extents:
        result = result.multiply(extent)
    return result


class Dimensions:
    """Names of the extents of the arguments. Extents that are equal in all examples are one dimension: an integer argument that equals them
    names it, one that differs by a small number from a named one is affine, and a small one that no example changes stays a number."""

    def __init__(self, fresh):
        self._fresh = fresh
        self._known = {}
        self._letters = 0
        self.assumed = {}  # extent's text -> the places where it was met

    def scalar(self, name, values):
        self._known.setdefault(tuple(values), Extent.of(name))

    def extent(self, values, place):
        values = tuple(values)
        if values not in self._known:
            self._known[values] = self._near(values) or self._new(values)
        extent = self._known[values]
        self.assumed.setdefault(extent.code(), []).append(place)
        return extent

    def _near(self, values):
        if max(values) <= _LITERAL and len(set(values)) == 1:
            return Extent(values[0])
        for known, extent in self._known.items():
            differences = {value - other for value, other in zip(values, known)}
            if len(differences) == 1 and abs(next(iter(differences))) <= _NEAR and min(known) > _LARGE and extent.terms:
                return extent + Extent(next(iter(differences)))
        return None

    def _new(self, values):
        letter = _LETTERS[self._letters] if self._letters < len(_LETTERS) else "n"
        self._letters += 1
        return Extent.of(self._fresh(letter))

    def assumptions(self):
        """Assumptions from one example: extents that may be equal only by chance."""
        lines = []
        for code, places in self.assumed.items():
            if len(places) > 1 or not code.replace("_", "a").isidentifier():
                lines.append(f"{' = '.join(places)} = {code}")
        return lines
