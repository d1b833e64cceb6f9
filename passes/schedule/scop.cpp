#include "passes/schedule/scop.h"

#include <algorithm>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

std::optional<std::size_t> Scop::array_of(ValueId key) const {
  const auto found = std::ranges::find(arrays, key, &ScopArray::key);
  return found == arrays.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - arrays.begin()));
}

std::vector<ScopAccess> accesses_of(const Scop& scop, const ScopStatement& s) {
  const Compute& c = s.accumulation ? *s.accumulation : s.compute;
  std::vector<ScopAccess> all{{s.array, c.left, true, s.accumulation.has_value(), true, false}};
  const auto add = [&](const Expr& e, bool guarded, bool reduced) {
    if (!e) return;
    for_each_read(e, [&](const Read& r) {
      if (const auto a = scop.array_of(r.tensor)) all.push_back({*a, r.subscripts, false, false, guarded, reduced});
    });
  };
  add(c.bodies[0], true, true);
  add(c.guard, false, true);
  for (const Expr& e : c.left) add(e, false, false);
  // Without accumulation, a combined element is read like any other.
  if (c.combine && !s.accumulation) all.push_back({s.array, c.left, false, false, true, false});
  return all;
}

Expr difference(const Expr& e, const Extent& by) {
  return by == Extent(0) ? e : binary(BinaryOp::kSub, e, expr_of_polynomial(by));
}

std::optional<Extent> extreme(const Scop& scop, Extent e, bool largest) {
  for (std::size_t k = scop.loops.size(); k-- > 0;) {
    const ScopLoop& loop = scop.loops[k];
    if (!mentions(e, loop.index)) continue;
    const auto form = linear_in(e, loop.index);
    if (!form || !loop.lowest || !loop.values) return std::nullopt;
    const bool last = (form->coefficient > 0) == largest;
    const Extent value = last ? *loop.lowest + *loop.values - Extent(1) : *loop.lowest;
    e = form->rest + Extent(form->coefficient) * value;
  }
  return e;
}

bool varies(const Scop& scop, const Extent& e) {
  return std::ranges::any_of(e.values(),
                             [&](ValueId v) { return std::ranges::count(scop.loops, v, &ScopLoop::index) > 0; });
}

std::size_t common_loops(const ScopStatement& a, const ScopStatement& b) {
  std::size_t n = 0;
  while (n < a.loops.size() && n < b.loops.size() && a.loops[n] == b.loops[n]) ++n;
  return n;
}

}  // namespace tdsl::passes
