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

AheadPart part_ahead(Program& program, const Compute& c, const Expr& part, LabelSet summed, SourceRange range) {
  Compute ahead;
  Type type{part->type, {}, {}};
  std::vector<Expr> replacements(c.out.size() + c.reduce.size());
  std::vector<Expr> subscripts;
  const std::vector<std::size_t> order = dimensions(part);
  for (const std::size_t label : order) {
    if ((summed >> label & 1) != 0) continue;
    const Label& l = label_of(c, static_cast<std::int32_t>(label));
    const Expr here = index_ref(static_cast<std::int32_t>(label));
    replacements[label] = index_ref(static_cast<std::int32_t>(ahead.out.size()));
    ahead.out.push_back(l);
    type.shape.push_back(l.end - l.begin);
    subscripts.push_back(l.begin == Extent(0) ? here : index_difference(here, expr_of_polynomial(l.begin)));
  }
  for (const std::size_t label : order) {
    if ((summed >> label & 1) == 0) continue;
    replacements[label] = index_ref(static_cast<std::int32_t>(ahead.out.size() + ahead.reduce.size()));
    ahead.reduce.push_back(label_of(c, static_cast<std::int32_t>(label)));
  }
  if (!ahead.reduce.empty()) ahead.monoid = Monoid{};
  ahead.bodies = {substitute_labels(part, replacements)};
  const ValueId v = program.new_value(type, "", range);
  return {{range, {v}, std::move(ahead)}, read(part->type, v, std::move(subscripts), range)};
}

Expr computed_ahead(Program& program, const Compute& c, const Expr& part, SourceRange range,
                    std::vector<Node>& before) {
  AheadPart ahead = part_ahead(program, c, part, 0, range);
  if (can_fail(program, std::get<Compute>(ahead.node.op))) {
    program.values.pop_back();
    return {};
  }
  before.push_back(std::move(ahead.node));
  return ahead.element;
}

}  // namespace tdsl::passes
