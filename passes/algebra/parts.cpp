#include "passes/algebra/parts.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ir/analysis/contraction.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

std::vector<std::size_t> dimensions(const Expr& part) {
  std::vector<std::size_t> order;
  std::size_t most = 0;
  for_each_read(part, [&](const Read& r) {
    if (r.subscripts.size() <= most) return;
    most = r.subscripts.size();
    order.clear();
    for (const Expr& s : r.subscripts) {
      const std::int32_t label = bare_label(s);
      if (label >= 0 && std::ranges::count(order, static_cast<std::size_t>(label)) == 0)
        order.push_back(static_cast<std::size_t>(label));
    }
  });
  const LabelSet all = label_set(part);
  for (std::size_t l = 0; l < 64; ++l) {
    if ((all >> l & 1) != 0 && std::ranges::count(order, l) == 0) order.push_back(l);
  }
  return order;
}

}  // namespace

Expr computed_ahead(Program& program, const Compute& c, const Expr& part, SourceRange range,
                    std::vector<Node>& before) {
  Compute ahead;
  Type type{part->type, {}, {}};
  std::vector<Expr> replacements(c.out.size() + c.reduce.size());
  std::vector<Expr> subscripts;
  for (const std::size_t label : dimensions(part)) {
    const Label& l = label_of(c, static_cast<std::int32_t>(label));
    const Expr here = index_ref(static_cast<std::int32_t>(label));
    replacements[label] = index_ref(static_cast<std::int32_t>(ahead.out.size()));
    ahead.out.push_back(l);
    type.shape.push_back(l.end - l.begin);
    subscripts.push_back(l.begin == Extent(0) ? here : index_difference(here, expr_of_polynomial(l.begin)));
  }
  ahead.bodies = {substitute_labels(part, replacements)};
  if (can_fail(program, ahead)) return {};
  const ValueId v = program.new_value(type, "", range);
  before.push_back({range, {v}, std::move(ahead)});
  return read(part->type, v, std::move(subscripts), range);
}

}  // namespace tdsl::passes
