#include "ir/analysis/carried.h"

#include <algorithm>

namespace tdsl::ir {

namespace {

using Lists = std::vector<std::vector<ValueId>>;

std::vector<ValueId> without_index(const std::vector<ValueId>& arguments) {
  return arguments.empty() ? arguments : std::vector<ValueId>(arguments.begin() + 1, arguments.end());
}

/// Differing lengths are reported by the verifier.
std::vector<CarriedVariable> side_by_side(const Lists& sources, const Lists& names) {
  std::size_t shortest = names[0].size();
  for (const Lists* lists : {&sources, &names}) {
    for (const auto& list : *lists) shortest = std::min(shortest, list.size());
  }
  std::vector<CarriedVariable> variables(shortest);
  for (std::size_t k = 0; k < shortest; ++k) {
    for (const auto& list : sources) variables[k].sources.push_back(list[k]);
    for (const auto& list : names) variables[k].names.push_back(list[k]);
  }
  return variables;
}

}  // namespace

std::vector<CarriedVariable> carried_by(const Node& node) {
  if (const auto* f = std::get_if<For>(&node.op))
    return side_by_side({f->inits, f->body.yields}, {without_index(f->body.arguments), node.results});
  if (const auto* w = std::get_if<While>(&node.op))
    return side_by_side({w->inits, w->body.yields},
                        {w->condition.arguments, without_index(w->body.arguments), node.results});
  if (const auto* i = std::get_if<If>(&node.op))
    return side_by_side({i->then_region.yields, i->else_region.yields}, {node.results});
  if (const auto* c = std::get_if<Choose>(&node.op)) {
    Lists yields;
    for (const Region& r : c->regions) yields.push_back(r.yields);
    return side_by_side(yields, {node.results});
  }
  return {};
}

}  // namespace tdsl::ir
