#include "runtime/routines/algorithms/elimination.h"
#include "runtime/routines/algorithms/forms.h"

namespace tdsl::rt::routines {

namespace {

class Solve : private Elimination {
 public:
  using Elimination::Elimination;

  void run() {
    const Index n = operand(0).extent(0);
    const bool vector = operand(1).state().desc.shape.size() == 1;
    const Index columns = vector ? 1 : operand(1).extent(1);
    TensorHandle s = side_by_side(n, columns, vector);
    release_operands();
    const Eliminated e = eliminate(std::move(s), n, true);
    TensorHandle y = part(11, "y", n, columns, e.s, {0, n});
    OpBuilder zeros = op(OpClass::kSource, "x", 12);
    zeros.out("i", n).out("j", columns).flops(0);
    TensorHandle x = compute(zeros, element(), KernelName::kZeros);
    const Index count = block_count(n);
    loop(count, [&](Index k) { backwards(e, y, x, block(count - 1 - k, n)); });
    result(0).tensor = vector ? first_column(x) : part(19, name(0, "x"), n, columns, x, {0, 0});
  }

 private:
  TensorHandle side_by_side(Index n, Index columns, bool vector) {
    OpBuilder both = op(OpClass::kMap, "factor", 0);
    both.out("i", n).out("j", n + columns).read(operand(0).id(), {at(0), at(1)});
    vector ? both.read(operand(1).id(), {at(0)}) : both.read(operand(1).id(), {at(0), at(1, -n)});
    both.flops(1).divisible();
    return compute(both, element(), KernelName::kBeside, {n});
  }

  void backwards(const Eliminated& e, TensorHandle& y, TensorHandle& x, const Block& rows) {
    const TensorHandle open = picked_rows(13, "open", e.p, rows.lo, rows.width, y, 0, y.extent(1));
    const TensorHandle corner = picked_rows(14, "corner", e.p, rows.lo, rows.width, e.s, rows.lo, rows.width);
    const TensorHandle found = solved(15, "found", KernelName::kBackwardColumns, corner, open);
    // Rows that are already solved receive values that are never read.
    const TensorHandle change = negative(16, found);
    OpBuilder product = op(OpClass::kContraction, "y", 17);
    product.out("i", y.extent(0)).out("j", y.extent(1)).reduce("l", rows.width).base(y.id());
    product.read(e.s.id(), {at(0), at(2, rows.lo)})
        .read(change.id(), {at(2), at(1)})
        .combine(plan::Combine::kSum)
        .flops(2);
    y = contraction(product);
    x = with_part(18, x, {rows.lo, 0}, found, rows.width, x.extent(1));
  }

  TensorHandle first_column(const TensorHandle& x) {
    OpBuilder copy = op(OpClass::kMap, name(0, "x"), 19);
    copy.out("i", x.extent(0)).read(x.id(), {at(0), fixed(0, 1)}).flops(0).divisible();
    return compute(copy, element(), KernelName::kFirstColumn);
  }
};

}  // namespace

void distributed_solve(Caller& caller, Call& call) { Solve(caller, call).run(); }

}  // namespace tdsl::rt::routines
