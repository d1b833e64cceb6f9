#include "runtime/routines/algorithms/forms.h"
#include "runtime/routines/algorithms/steps.h"

namespace tdsl::rt::routines {

namespace {

class Cholesky : private Steps {
 public:
  using Steps::Steps;

  void run() {
    const Index n = operand(0).extent(0);
    one_panel_ahead(n, block_width(n));
    TensorHandle s = part(0, "factor", n, n, operand(0), {0, 0});
    release_operands();
    loop(block_count(n), [&](Index k) { step(s, block(k, n), n); });
    OpBuilder lower = op(OpClass::kMap, name(0, "factor"), 9);
    lower.out("i", n).out("j", n).base(s.id()).flops(0);
    result(0).tensor = compute(lower, element(), KernelName::kZerosAbove);
  }

 private:
  void step(TensorHandle& s, const Block& b, Index n) {
    const Index rest = n - b.hi;
    const TensorHandle corner = factor(part(1, "diagonal", b.width, b.width, s, {b.lo, b.lo}));
    const TensorHandle below = divided(part(3, "panel", rest, b.width, s, {b.hi, b.lo}), corner);
    s = plus_product(6, "factor", s, {b.hi, b.hi}, negative(5, below), below, true);
    s = with_part(7, s, {b.lo, b.lo}, corner, b.width, b.width);
    s = with_part(8, s, {b.hi, b.lo}, below, rest, b.width);
  }

  TensorHandle factor(const TensorHandle& diagonal) {
    const Index width = diagonal.extent(0);
    OpBuilder corner = op(OpClass::kMap, "corner", 2);
    corner.out("i", width)
        .uncut()
        .out("j", width)
        .uncut()
        .read(diagonal.id(), {whole(), whole()})
        .flops(1.0 / 3 * static_cast<double>(width));
    return compute(corner, element(), KernelName::kCholesky);
  }

  /// Solves X C' = `panel` for X.
  TensorHandle divided(const TensorHandle& panel, const TensorHandle& corner) {
    const Index width = corner.extent(0);
    OpBuilder below = op(OpClass::kMap, "below", 4);
    below.out("i", panel.extent(0)).out("j", width).uncut();
    below.read(panel.id(), {at(0), whole()}).read(corner.id(), {whole(), whole()}).flops(static_cast<double>(width));
    return compute(below, element(), KernelName::kTriangularRows);
  }
};

}  // namespace

void distributed_cholesky(Caller& caller, Call& call) { Cholesky(caller, call).run(); }

}  // namespace tdsl::rt::routines
