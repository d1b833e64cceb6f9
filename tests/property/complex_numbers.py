"""Complex numbers: made of real tensors, combined in some steps, and seen through their parts, absolute values and gradients."""
from model import Stmt

# Steps on complex tensors x and y of one shape whose absolute values are at most r and s: template, bound.
STEPS = [("{x} + {y}", lambda r, s: r + s), ("{x} - 2i * {y}", lambda r, s: r + 2 * s), ("{x} * {y}", lambda r, s: r * s),
         ("conj({x}) * {y}", lambda r, s: r * s), ("-{x} + 1.5", lambda r, s: r + 1.5), ("{x} ** 2", lambda r, s: r * r),
         ("where(real({x}) > imag({y}), {x}, {y})", max), ("{x} * real({y})", lambda r, s: r * s),
         ("c128(imag({x}), real({y}))", lambda r, s: max(r, s) * 1.5)]
INEXACT = [("{x} / (abs({y}) + 1.0)", lambda r, s: r), ("exp({x} / (abs({x}) + 1.0))", lambda r, s: 3), ("polar(1.0, real({x}))", lambda r, s: 1),
           ("sqrt({x} * conj({x}) + 1.0)", lambda r, s: r + 1), ("sign({x} + 3.0 * ({y} * 0.0 + 1.0))", lambda r, s: 1), ("sin({x} * 0.1) * {y}", lambda r, s: s * (2 ** min(r, 40))),
         ("tanh(0.1 * ({x} / (abs({x}) + 1.0)))", lambda r, s: 1)]
PARTS = [("real({z})", 1), ("imag({z})", 1), ("real(conj({z}) * {z})", 2), ("real({z}') + imag({z})'", 2)]


class ComplexNumbers:
    def complex_steps(self, context):
        """Two tensors, steps, and reals of the last one."""
        narrow = self.chance(0.2) and not self.exact
        scalar, kind = ("f32", "c64") if narrow else ("f64", "c128")
        shape = self.shape(1, 2)
        lines, names = [], [self.new_name("z"), self.new_name("z")]
        bound = 3 if self.exact else 2
        for name in names:
            re, im = self.argument(scalar, shape, context, bound), self.argument(scalar, shape, context, bound)
            lines.append(Stmt(f"let ${name} = {kind}({{0}}, {{1}});", [re, im]))
        sizes = [1.5 * bound, 1.5 * bound]
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            x, y = self.rng.choice(names), self.rng.choice(names)
            text, of = self.rng.choice(STEPS if self.exact or narrow else STEPS + INEXACT)
            size = of(sizes[names.index(x)], sizes[names.index(y)])
            if size > 1000 or narrow and "1.5" in text and "c128" in text:
                continue
            if narrow and "c128" in text:
                text = text.replace("c128", "c64")
            name = self.new_name("z")
            lines.append(Stmt(f"let ${name} = {text.format(x='$' + x, y='$' + y)};"))
            names.append(name)
            sizes.append(size)
        if not self.exact and self.part("fourier") and self.chance(0.3):
            lines += self.transforms(names, sizes, shape)
        return lines + self.rng.choice([self.complex_part, self.complex_sum, self.complex_product, self.complex_scatter, self.complex_places])(names[-1], names[0], shape, scalar,
                                                                                                                         sizes[-1], sizes[0])

    def complex_part(self, z, w, shape, scalar, size, other):
        text, power = self.rng.choice(PARTS[:3] if len(shape) != 1 else PARTS)
        if not self.exact and self.chance(0.3):
            return [self.within(f"abs(${z})", scalar, shape, size)]
        return [self.within(text.format(z="$" + z), scalar, shape, max(size, 2) ** power)]

    def complex_sum(self, z, w, shape, scalar, size, other):
        count = 1
        for d in shape:
            count *= max(d.size, 1)
        axis = self.rng.randrange(len(shape))
        rest = shape[:axis] + shape[axis + 1:]
        return [self.within(f"real(sum(${z}))", scalar, (), count * size),
                self.within(f"imag(sum(${z}, axis={axis}))", scalar, rest, count * size)]

    def complex_product(self, z, w, shape, scalar, size, other):
        count = 1
        for d in shape:
            count *= max(d.size, 1)
        reach = count * size * other
        if len(shape) == 1:
            text = self.rng.choice([f"${z}' @ ${w}", f"${z} @ ${w}", f"sum(outer(${z}, ${w}))"])
            return [self.within(f"{self.rng.choice(['real', 'imag'])}({text})", scalar, (), count * reach)]
        text, result = self.rng.choice([(f"${z} @ ${w}'", (shape[0], shape[0])), (f"${z}' @ ${w}", (shape[1], shape[1])),
                                        (f"transpose(${z}) @ ${w}", (shape[1], shape[1])), (f"${z} @ ${w}[0, :]", (shape[0],))][:4 if shape[0].size > 0 else 3])
        return [self.within(f"{self.rng.choice(['real', 'imag'])}({text})", scalar, result, reach)]

    def complex_scatter(self, z, w, shape, scalar, size, other):
        """Elements added up by place, in index notation or in a loop."""
        if len(shape) != 1 or scalar != "f64":
            return self.complex_sum(z, w, shape, scalar, size, other)
        n, name = shape[0], self.new_name("z")
        reach = max(n.size, 1) * size
        if self.chance(0.5):
            lines = [Stmt(f"let ${name}[mod($i, 3)]: c128[3] += ${z}[$i];")]
        else:
            lines = [Stmt(f"var ${name}: c128[3] = zeros(3);"), Stmt(f"for $i in 0..{n.text}", (), [[Stmt(f"${name}[mod($i, 3)] = ${name}[mod($i, 3)] + ${z}[$i];")]])]
        return lines + [self.within(f"real(${name}) - imag(${name})", scalar, self.three(), 2 * reach)]

    def complex_places(self, z, w, shape, scalar, size, other):
        """Elements read and written at places of a table, in index notation and in a loop."""
        if len(shape) != 1:
            return self.complex_part(z, w, shape, scalar, size, other)
        n, kind = shape[0].text, {"f64": "c128", "f32": "c64"}[scalar]
        p, g, s = (self.new_name("p") for _ in range(3))
        lines = [Stmt(f"let ${p} = permutation({n}, key={self.rng.randrange(9)});"), Stmt(f"let ${g}[i] = ${z}[${p}[i]] * {self.rng.choice(['2i', '1.5'])};")]
        if self.chance(0.5):
            lines.append(Stmt(f"let ${s}[${p}[i]]: {kind}[{n}] = ${w}[i];"))
        else:
            lines += [Stmt(f"var ${s} = ${w};"), Stmt(f"${s}[${p}[i]] = ${g}[i];")]
        return lines + [self.within(f"real(${g}) - imag(${s})", scalar, shape, 2 * size + 2 * max(size, other))]

    def three(self):
        from model import Dim
        return (Dim("3", 3),)

    def complex_slope(self, context):
        """The gradient of a real loss of complex numbers by a real input, or by a complex variable."""
        inputs = [v for v in self.values if v.name[0] == "A" and v.scalar == "f64" and v.shape]
        if not inputs or self.exact:
            return None
        v = self.rng.choice(inputs)
        z, loss, slope, part = self.new_name("z"), self.new_name("l"), self.new_name("g"), self.new_name("g")
        self.only_outputs += [slope, part]
        body = self.rng.choice(["abs({z}) ** 2", "real({z} * {z})", "imag(exp(0.1i * {z}))", "abs(conj({z}) * {z} + 1i)", *(["abs(fftn({z}) * {z}) * 0.1"] if self.part("fourier") and all(d.size for d in v.shape) else [])]).format(z="$" + z)
        return [Stmt(f"let ${z} = c128(${v.name}, 2.0 * ${v.name});"), Stmt(f"let ${loss} = sum({body});"),
                Stmt(f"let ${slope} = grad(${loss}, ${v.name});"), Stmt(f"let ${part} = imag(grad(${loss}, ${z}));")]
