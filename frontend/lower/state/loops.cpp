#include "frontend/lower/state/loops.h"

namespace tdsl::frontend {

Restored<std::vector<EnclosingLoop>> Loops::enter(const std::vector<EnclosingLoop>& inner) {
  std::vector<EnclosingLoop> loops = loops_;
  loops.insert(loops.end(), inner.begin(), inner.end());
  return Restored(loops_, std::move(loops));
}

std::vector<ValueId> Loops::iteration_numbers(const SourceRange& range) {
  std::vector<ValueId> numbers;
  for (const EnclosingLoop& loop : loops_) {
    if (!loop.index.valid()) reports_.unsupported(range, "drawing random numbers in a while condition is");
    if (!loop.begin.valid()) {
      numbers.push_back(loop.index);
      continue;
    }
    const Expr way = sub(ir::read(Scalar::kI64, loop.index, {}), ir::read(Scalar::kI64, loop.begin, {}));
    const Expr number = ir::binary(BinaryOp::kDiv, way, ir::constant_i64(loop.step));
    numbers.push_back(values_.materialise(scalar_tensor(number), "iteration", {}));
  }
  return numbers;
}

}  // namespace tdsl::frontend
