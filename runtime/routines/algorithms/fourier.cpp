#include <cmath>

#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

/// Fewer rows or columns are not worth three exchanges.
constexpr Index kFewestRows = 16;

/// The divisor of n next to its square root, at most that.
Index middle_divisor(Index n) {
  Index best = 1;
  for (Index d = 2; d * d <= n; ++d) {
    if (n % d == 0) best = d;
  }
  return best;
}

/// The complex elements of a transform of n elements: half as many for pairs of reals.
Index complex_length(Routine routine, Index n) {
  const bool of_pairs = routine == Routine::kRfft || routine == Routine::kIrfft;
  return of_pairs && n % 2 == 0 ? n / 2 : n;
}

/// A transform of a vector of h = rows * columns complex elements (the six-step form): element i * columns + j of the
/// vector is (i, j) of a matrix; its columns are transformed and multiplied by roots of unity, then its rows, which are
/// the result by columns.
///
/// Note [Pairs of reals]. rfft of an even number n of reals transforms h = n / 2 pairs x[2 j] + i x[2 j + 1], whose
/// results k and h - k give element k; irfft begins with the elements k and h - k, and its results are pairs. rfft of
/// an odd number leaves out half of the results.
class LongLine : private Steps {
 public:
  LongLine(Caller& caller, Call& call)
      : Steps(caller, call),
        n_(call.routine == Routine::kIrfft ? call.count : operand(0).extent(0)),
        length_(complex_length(call.routine, n_)),
        rows_(middle_divisor(length_)),
        columns_(length_ / rows_),
        flops_(std::ceil(2.5 * std::log2(static_cast<double>(length_)))) {}

  void run() {
    const bool of_pairs = length_ < n_;
    switch (call_.routine) {
      case Routine::kRfft:
        if (!of_pairs) return whole(n_ / 2 + 1);
        return spectrum(by_columns(transforms(pairs_in_rows(), false), "pairs", length_, FourierScale::kNone));
      case Routine::kIrfft: return reals(transforms(in_rows(pairs_of_spectrum()), true));
      default: return whole(n_);
    }
  }

 private:
  /// The first `count` results of a complex transform.
  void whole(Index count) {
    const TensorHandle rows = in_rows(operand(0));
    release_operands();
    const TensorHandle made = transforms(rows, call_.routine == Routine::kIfft);
    result(0).tensor = by_columns(made, name(0, name_of(call_.routine)), count, call_.scale);
  }

  TensorHandle in_rows(const TensorHandle& vector) {
    OpBuilder matrix = op(OpClass::kMap, "rows", 0);
    matrix.out("i", rows_).out("j", columns_).uncut().read(vector.id(), {at({{0, columns_}, {1, 1}})}).flops(0);
    return compute(matrix, made_, KernelName::kInRows, {columns_});
  }
  TensorHandle pairs_in_rows() {
    OpBuilder matrix = op(OpClass::kMap, "rows", 0);
    matrix.out("i", rows_).out("j", columns_).uncut();
    matrix.read(operand(0).id(), {DimAccess{{{0, 2 * columns_}, {1, 2}}, {0, 2}, false}}).flops(0);
    const TensorHandle rows = compute(matrix, made_, KernelName::kPairsInRows, {columns_});
    release_operands();
    return rows;
  }

  TensorHandle transforms(const TensorHandle& rows, bool inverse) {
    OpBuilder turned = op(OpClass::kMap, "columns", 1);
    turned.out("i", rows_).uncut().out("j", columns_).read(rows.id(), {plan::whole(), at(1)}).flops(flops_ + 6);
    const TensorHandle columns = compute(turned, made_, KernelName::kFourierColumns, {inverse ? 1 : 0, rows_, length_});

    OpBuilder across = op(OpClass::kMap, "transforms", 2);
    across.out("i", rows_).out("j", columns_).uncut().read(columns.id(), {at(0), plan::whole()}).flops(flops_);
    return compute(across, made_, inverse ? KernelName::kIfft : KernelName::kFft,
                   {1, static_cast<Index>(FourierScale::kNone), columns_});
  }

  TensorHandle by_columns(const TensorHandle& transforms, std::string_view title, Index count, FourierScale scale) {
    OpBuilder line = op(OpClass::kMap, title, 3);
    line.out("k", count).read(transforms.id(), {plan::whole(), plan::quotient({{0, 1}}, 0, rows_)}).flops(2);
    return compute(line, made_, KernelName::kByColumns, {rows_, static_cast<Index>(scale), n_});
  }

  /// Elements 0 to h from the transform of pairs. Offsets of both sides keep boxes from being empty at the ends.
  void spectrum(const TensorHandle& pairs) {
    OpBuilder elements = op(OpClass::kMap, name(0, name_of(call_.routine)), 4);
    elements.out("k", length_ + 1).read(pairs.id(), {DimAccess{{{0, 1}}, {-1, 1}, false}});
    elements.read(pairs.id(), {DimAccess{{{0, -1}}, {length_ - 1, length_ + 1}, false}});
    elements.read(pairs.id(), {fixed(0, 1)}).flops(14);
    result(0).tensor = compute(elements, made_, KernelName::kSpectrum, {static_cast<Index>(call_.scale), n_});
  }

  /// Twice the pairs whose transform has the given elements.
  TensorHandle pairs_of_spectrum() {
    OpBuilder pairs = op(OpClass::kMap, "pairs", 4);
    pairs.out("k", length_).read(operand(0).id(), {at(0)}).read(operand(0).id(), {at(0, length_, -1)}).flops(14);
    const TensorHandle made = compute(pairs, made_, KernelName::kPairsOfSpectrum, {n_});
    release_operands();
    return made;
  }
  void reals(const TensorHandle& transforms) {
    OpBuilder line = op(OpClass::kMap, name(0, name_of(call_.routine)), 3);
    line.out("k", n_).read(transforms.id(), {plan::whole(), plan::quotient({{0, 1}}, 0, 2 * rows_)}).flops(1);
    result(0).tensor =
        compute(line, part_type(element()), KernelName::kReals, {rows_, static_cast<Index>(call_.scale), n_});
  }

  Index n_;
  Index length_;
  Index rows_;
  Index columns_;
  double flops_;
  ElementType made_ = complex_type(part_type(element()));
};

}  // namespace

bool has_long_line(Routine routine, Index n) {
  if (routine == Routine::kIrfft && n % 2 != 0) return false;
  return middle_divisor(complex_length(routine, n)) >= kFewestRows;
}

void distributed_fourier(Caller& caller, Call& call) { LongLine(caller, call).run(); }

}  // namespace tdsl::rt::routines
