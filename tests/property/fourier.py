"""Fourier transforms of complex and real tensors of any length, seen through results of known shape."""
from model import Stmt
from operations import MOST_ELEMENTS, size_of

# Lengths of padded lines: powers of two, several factors, primes, one of several lanes of tiles.
LENGTHS = [14, 15, 16, 17, 31, 36, 64, 97, 128, 210, 257]


class Fourier:
    def transforms(self, names, sizes, shape):
        """Fourier transforms of the last tensor, with its shape."""
        if any(d.size == 0 for d in shape):
            return []
        axis = self.rng.randrange(-len(shape), len(shape))
        n, z, name = shape[axis], "$" + names[-1], self.new_name("z")
        count = max(d.size for d in shape) ** len(shape)
        text, reach = self.rng.choice([(f"fft({z}, axis={axis})", n.size), (f"ifft({z}, axis={axis})", 1), (f"fftn({z}, norm=ortho)", count), (f"ifftn(fftn({z}))", count),
                                       (f"fft(real({z}), norm=forward)", 1), (f"fftshift(fft({z}, n={n.text}, axis={axis}), axis={axis})", n.size),
                                       (f"fft(irfft(rfft(imag({z}), axis={axis}), n={n.text}, axis={axis}), axis={axis})", 2 * n.size)])
        names.append(name)
        sizes.append(sizes[-1] * reach)
        return [Stmt(f"let ${name} = {text};")]

    def fourier_steps(self, context):
        """Transforms there and back with something between: filters, products, longer lines, steps of a loop."""
        if self.exact:
            return None
        shape = self.shape(1, 3)
        if any(d.size == 0 for d in shape):
            return None
        narrow = self.chance(0.15)
        scalar = "f32" if narrow else "f64"
        names = [self.new_name("z"), self.new_name("z")]
        lines = [Stmt(f"let ${name}: {self.dense_type_text(scalar, shape)} = {{0}};", [self.argument(scalar, shape, context, 2)]) for name in names]
        makers = [(self.convolved, 3), (self.half_lines, 2), (self.longer_lines, 2), (self.filtered_modes, 2), (self.all_axes, 2), (self.split_steps, 0 if narrow else 1.5),
                  (self.energy_slope, 1)]
        return lines + self.rng.choices([m for m, _ in makers], [w for _, w in makers])[0](*("$" + n for n in names), shape, scalar)

    def along(self, shape):
        """(axis, its text as an argument, the extent, the number of elements)"""
        axis = self.rng.randrange(-len(shape), len(shape))
        text = "" if axis == -1 and self.chance(0.5) else f", axis={axis}"
        return axis, text, shape[axis], size_of(shape)

    def convolved(self, x, y, shape, scalar):
        """Circular convolution, also through transforms of reals."""
        axis, along, n, _ = self.along(shape)
        norm = self.rng.choice(["", "", ", norm=ortho", ", norm=forward"])
        text = self.rng.choice([f"real(ifft(fft({x}{along}) * fft({y}{along}){along}))", f"irfft(rfft({x}{along}) * rfft({y}{along}), n={n.text}{along})",
                                f"irfft(rfft({x}{along}{norm}), n={n.text}{along}{norm}) - {y}", f"real(ifft(conj(fft({x}{along})) * fft({x}{along}){along}))"])
        return [self.within(text, scalar, shape, 4 * n.size + 2)]

    def half_lines(self, x, y, shape, scalar):
        """The spectrum of reals is an output, and its sum a value."""
        axis, along, n, count = self.along(shape)
        name = self.new_name("y")
        self.only_outputs.append(name)
        form = self.rng.choice(["abs({z})", "{z}", "real({z}) + imag({z})", "{z} * conj({z})"]).format(z=f"rfft({x}{along})")
        last = shape[-1]
        frequencies = self.within(f"sum(rfftfreq({last.text}, d=0.5) * abs(rfft({y})))", "f64", (), 2 * count * last.size)
        return [Stmt(f"let ${name} = {form};"), frequencies if scalar == "f64" else self.within(f"sum(abs(rfft({y}{along})))", scalar, (), 2 * count * n.size)]

    def longer_lines(self, x, y, shape, scalar):
        """Lines continued with zeros and cut again, or cut and repeated."""
        axis, along, n, count = self.along(shape)
        length = self.rng.choice(LENGTHS)
        if count // n.size * length > MOST_ELEMENTS:
            length = LENGTHS[0]
        if count // n.size * length > MOST_ELEMENTS:
            return self.convolved(x, y, shape, scalar)
        cut = "[" + ", ".join(f"0:{n.text}" if k == axis % len(shape) else ":" for k in range(len(shape))) + "]"
        text = self.rng.choice([f"real(ifft(fft({x}, n={length}{along}){along}))", f"irfft(rfft({x}, n={length}{along}), n={length}{along})",
                                f"real(ifft(fft({x}, n={length}{along}) * fft({y}, n={length}{along}){along}))"])
        return [self.within(f"({text}){cut}", scalar, shape, 4 * n.size)]

    def filtered_modes(self, x, y, shape, scalar):
        """A derivative, a shift, or the low frequencies along the last axis."""
        n = shape[-1]
        factor = self.rng.choice([f"(2i * pi * fftfreq({n.text}))", f"polar(1.0, 0.7 * fftfreq({n.text}))", f"(1.0 / (1.0 + fftfreq({n.text}, d=2.0) ** 2))",
                                  f"where(abs(fftfreq({n.text})) < 0.27, 1.0, 0.0)"])
        text = self.rng.choice([f"real(ifft({factor} * fft({x})))", f"imag(ifft({factor} * fft({x} + 1i * {y})))", f"real(fftshift(ifftshift({x} * 1i * 1i)))"])
        return [self.within(text, "f64", shape, 40 * n.size)] if scalar == "f64" else self.convolved(x, y, shape, scalar)

    def all_axes(self, x, y, shape, scalar):
        """Transforms of two or all axes, of chosen axes in turn."""
        count = size_of(shape)
        axes = "(" + ", ".join(map(str, self.rng.sample(range(len(shape)), len(shape)))) + ")"
        pairs = [("fftn({a})", "ifftn({a})")] + ([("fft2({a})", "ifft2({a})"), (f"fft({{a}}, axis={axes})", "ifftn({a})"), ("fft2({a}, norm=ortho)", "ifft2({a}, norm=ortho)")] if len(shape) > 1 else [])
        there, back = self.rng.choice(pairs)
        body = self.rng.choice([there.format(a=x), f"{there.format(a=x)} * {there.format(a=y)}"])
        return [self.within(f"real({back.format(a=body)})", scalar, shape, 4 * count * count)]

    def split_steps(self, x, y, shape, scalar):
        """Steps of the split-step method: a phase for each place, a phase for each frequency."""
        z, step, n = self.new_name("z"), self.new_loop_name(), shape[-1]
        kinetic = f"polar(1.0, -0.5 * fftfreq({n.text}) ** 2)"
        body = self.rng.choice([f"${z} = polar(1.0, 0.1 * {y}) * ifft({kinetic} * fft(${z}));", f"${z} = ifft(fft(${z}) * {kinetic}) + 0.5 * ${z};"])
        return [Stmt(f"var ${z}: {self.dense_type_text('c128', shape)} = c128({x}, {y});"), Stmt(f"for ${step} in 0..3", (), [[Stmt(body)]]),
                self.within(f"real(${z}) - imag(${z})", "f64", shape, 100 * n.size)]

    def energy_slope(self, x, y, shape, scalar):
        loss, slope = self.new_name("l"), self.new_name("g")
        self.only_outputs.append(slope)
        _, along, n, _ = self.along(shape)
        body = self.rng.choice([f"abs(fft({x}{along})) ** 2", f"real(ifft(fft({x}{along}) * fft({y}{along}){along})) * {x}", f"abs(rfft({x}{along})) ** 2",
                                f"irfft(rfft({x}{along}), n={n.text}{along}) * {y}"])
        return [Stmt(f"let ${loss} = sum({body});"), Stmt(f"let ${slope} = grad(${loss}, {x});")]
