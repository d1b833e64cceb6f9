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

/// fft and ifft of a vector of n = rows * columns elements (the six-step form): element i * columns + j of the vector
/// is (i, j) of a matrix; its columns are transformed and multiplied by roots of unity, then its rows, which are the
/// result by columns.
class LongLine : private Steps {
 public:
  LongLine(Caller& caller, Call& call)
      : Steps(caller, call), n_(operand(0).extent(0)), rows_(middle_divisor(n_)), columns_(n_ / rows_) {}

  void run() {
    const bool inverse = call_.routine == Routine::kIfft;
    const ElementType made = complex_type(part_type(element()));
    const double flops = std::ceil(2.5 * std::log2(static_cast<double>(n_)));
    OpBuilder matrix = op(OpClass::kMap, "rows", 0);
    matrix.out("i", rows_).out("j", columns_).uncut().read(operand(0).id(), {at({{0, columns_}, {1, 1}})}).flops(0);
    const TensorHandle rows = compute(matrix, made, KernelName::kInRows, {columns_});
    release_operands();

    OpBuilder turned = op(OpClass::kMap, "columns", 1);
    turned.out("i", rows_).uncut().out("j", columns_).read(rows.id(), {whole(), at(1)}).flops(flops + 6);
    const TensorHandle columns = compute(turned, made, KernelName::kFourierColumns, {inverse ? 1 : 0, rows_, n_});

    OpBuilder across = op(OpClass::kMap, "transforms", 2);
    across.out("i", rows_).out("j", columns_).uncut().read(columns.id(), {at(0), whole()}).flops(flops);
    const TensorHandle transforms = compute(across, made, inverse ? KernelName::kIfft : KernelName::kFft,
                                            {1, static_cast<Index>(FourierScale::kNone), columns_});

    OpBuilder line = op(OpClass::kMap, name(0, name_of(call_.routine)), 3);
    line.out("k", n_).read(transforms.id(), {whole(), plan::quotient({{0, 1}}, 0, rows_)}).flops(2);
    result(0).tensor = compute(line, made, KernelName::kByColumns, {rows_, static_cast<Index>(call_.scale), n_});
  }

 private:
  Index n_;
  Index rows_;
  Index columns_;
};

}  // namespace

bool has_long_line(Index n) { return middle_divisor(n) >= kFewestRows; }

void distributed_fourier(Caller& caller, Call& call) { LongLine(caller, call).run(); }

}  // namespace tdsl::rt::routines
