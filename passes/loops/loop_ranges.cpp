#include "passes/loops/loop_ranges.h"

#include <algorithm>

#include "ir/graph/affine.h"

namespace tdsl::passes {

using namespace ir;

void LoopRanges::enter(ValueId index, const Extent& begin, const Extent& end, std::int64_t step) {
  const bool up = step > 0;
  loops_.push_back({index, up ? begin : end + Extent(1), up ? end - Extent(1) : begin});
}

bool LoopRanges::never_negative(const Extent& e, std::size_t loops) const {
  if (facts_.never_negative(e)) return true;
  if (std::ranges::any_of(passed_, [&](const Extent& room) { return facts_.never_negative(e - room); })) return true;
  if (loops == 0) return false;
  const Range& around = loops_[loops - 1];
  Extent least = e;
  if (mentions(e, around.index)) {
    const auto form = linear_in(e, around.index);
    if (!form) return false;
    least = form->rest + Extent(form->coefficient) * (form->coefficient > 0 ? around.lowest : around.highest);
  }
  return never_negative(least, loops - 1) || never_negative(least - (around.highest - around.lowest), loops - 1);
}

}  // namespace tdsl::passes
