#include <algorithm>

#include "runtime/routines/algorithms/elimination.h"
#include "runtime/routines/algorithms/forms.h"

namespace tdsl::rt::routines {

namespace {

class Lu : private Elimination {
 public:
  using Elimination::Elimination;

  void run() {
    const Index m = operand(0).extent(0);
    const Index n = operand(0).extent(1);
    const Index k = std::min(m, n);
    TensorHandle s = part(0, "factor", m, n, operand(0), {0, 0});
    release_operands();
    const Eliminated e = eliminate(std::move(s), k, false);
    if (result(0).wanted) {
      OpBuilder rows = op(OpClass::kMap, name(0, "rows"), 11);
      rows.out("i", m).read(e.p.id(), {at(0)}).flops(0).divisible();
      result(0).tensor = compute(rows, ElementType::kI64, KernelName::kCopyRows);
    }
    if (!result(1).wanted && !result(2).wanted) return;
    const TensorHandle both = picked_rows(12, "rows_in_order", e.p, 0, m, e.s, 0, n);
    if (result(1).wanted) result(1).tensor = triangle(13, name(1, "L"), both, m, k, 2, KernelName::kUnitLower);
    if (result(2).wanted) result(2).tensor = triangle(14, name(2, "U"), both, k, n, 1, KernelName::kUpper);
  }

 private:
  TensorHandle triangle(int place, std::string_view name, const TensorHandle& both, Index rows, Index columns,
                        double flops, KernelName kernel) {
    OpBuilder take = op(OpClass::kMap, name, place);
    take.out("i", rows).out("j", columns).read(both.id(), {at(0), at(1)}).flops(flops).divisible();
    return compute(take, element(), kernel);
  }
};

}  // namespace

void distributed_lu(Caller& caller, Call& call) { Lu(caller, call).run(); }

}  // namespace tdsl::rt::routines
