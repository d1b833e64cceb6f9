// Computes a reduction directly in the order and shape of a copy if that copy is its only use.
//
//     %3 = compute [i in 0..%0, j in 0..%1] sum[k in 0..%2] (%1[i, k] * %2[k, j])
//     %4 = compute [j in 0..%1, i in 0..%0] (%3[i, j])
// becomes
//     %4 = compute [j in 0..%1, i in 0..%0] sum[k in 0..%2] (%1[i, k] * %2[k, j])
//
// This exposes products between reshapes as products.

#include "passes/passes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/loops/subscripts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The read that is the whole body of a copy, or null.
const Read* copied_element(const Node& node) {
  const auto* c = std::get_if<Compute>(&node.op);
  const auto* r = c != nullptr && is_elementwise(*c) ? std::get_if<Read>(&c->bodies[0]->op) : nullptr;
  return r != nullptr && !r->subscripts.empty() ? r : nullptr;
}

bool is_unit(const Label& l) { return l.end - l.begin == Extent(1); }

/// True if the subscript is the row-major position of its index variables, each starting at 0, plus a constant; adds
/// them to `seen`.
bool is_position(const Expr& subscript, const std::vector<Label>& labels, std::set<std::int32_t>& seen) {
  const auto polynomial = subscript_polynomial(subscript);
  if (!polynomial) return false;
  std::vector<std::pair<std::int32_t, Extent>> steps;  // per index variable
  Extent rest = *polynomial;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    const ValueId here = label_value(static_cast<std::int32_t>(l));
    if (!mentions(rest, here)) continue;
    const Extent without =
        rest.substitute([&](ValueId v) { return v == here ? std::optional(Extent(0)) : std::nullopt; });
    const Extent step =
        (rest - without).substitute([&](ValueId v) { return v == here ? std::optional(Extent(1)) : std::nullopt; });
    if (!(rest - without == step * Extent::of(here)) || !seen.insert(static_cast<std::int32_t>(l)).second ||
        !(labels[l].begin == Extent(0)))
      return false;
    steps.emplace_back(static_cast<std::int32_t>(l), step);
    rest = without;
  }
  Extent next = 1;
  while (!steps.empty()) {
    const auto found = std::ranges::find_if(steps, [&](const auto& s) { return s.second == next; });
    if (found == steps.end()) return false;
    next = next * labels[static_cast<std::size_t>(found->first)].end;
    steps.erase(found);
  }
  return true;
}

class Relabelling : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      const Read* copied = copied_element(region.nodes[k]);
      if (copied == nullptr || use_counts_[static_cast<std::size_t>(copied->tensor.id)] != 1) continue;
      const auto from = producer_of(region, k, copied->tensor);
      if (!from || !fits(region, *from, k, *copied)) continue;
      join(region.nodes[*from], region.nodes[k], copied->subscripts);
      region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(*from));
      --k;
    }
  }

  static std::optional<std::size_t> producer_of(const Region& region, std::size_t before, ValueId v) {
    for (std::size_t k = before; k-- > 0;) {
      const Node& n = region.nodes[k];
      if (n.results.size() == 1 && n.results[0] == v)
        return std::holds_alternative<Compute>(n.op) ? std::optional(k) : std::nullopt;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool fits(const Region& region, std::size_t from, std::size_t to, const Read& copied) const {
    const auto& source = std::get<Compute>(region.nodes[from].op);
    const auto& copy = std::get<Compute>(region.nodes[to].op);
    const ValueId v = region.nodes[from].results[0], result = region.nodes[to].results[0];
    const bool reduces =
        source.monoid && source.left.empty() && !source.base && !source.combine && source.bodies.size() == 1;
    if (!reduces || source.in_any_order || program_.type(v).has_sparse() || program_.type(result).has_sparse() ||
        !program_.info(v).tile.empty() || program_.type(v).scalar != program_.type(result).scalar ||
        can_fail(program_, source) || can_fail(program_, copy))
      return false;
    return each_once(copied, copy) && !replaced_between(source, region, from + 1, to);
  }

  /// True if every element is copied at most once.
  static bool each_once(const Read& copied, const Compute& copy) {
    std::set<std::int32_t> seen;
    const bool positions = std::ranges::all_of(copied.subscripts, [&](const Expr& s) {
      const std::int32_t label = bare_label(s);
      return label >= 0 ? seen.insert(label).second : is_position(s, copy.out, seen);
    });
    for (std::size_t l = 0; l < copy.out.size() && positions; ++l) {
      if (!seen.contains(static_cast<std::int32_t>(l)) && !is_unit(copy.out[l])) return false;
    }
    return positions;
  }

  /// True if a node in between may replace a tensor that the reduction reads: moved behind it, the read would extend
  /// the old tensor's lifetime.
  [[nodiscard]] bool replaced_between(const Compute& source, const Region& region, std::size_t first,
                                      std::size_t last) const {
    const std::set<ValueId> read = values_read(source);
    return std::any_of(region.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                       region.nodes.begin() + static_cast<std::ptrdiff_t>(last), [&](const Node& n) {
                         const auto* c = std::get_if<Compute>(&n.op);
                         if (c != nullptr) return c->base && read.contains(*c->base);
                         const bool loops = std::holds_alternative<For>(n.op) || std::holds_alternative<While>(n.op) ||
                                            std::holds_alternative<If>(n.op);
                         return loops && std::ranges::any_of(operands_of(program_, n),
                                                             [&](ValueId v) { return read.contains(v); });
                       });
  }

  /// Turns the copy into the reduction.
  void join(const Node& source, Node& copy, const std::vector<Expr>& subscripts) {
    const auto& from = std::get<Compute>(source.op);
    auto& to = std::get<Compute>(copy.op);
    std::vector<Expr> replacements;
    for (std::size_t d = 0; d < from.out.size(); ++d) {
      const Extent& begin = from.out[d].begin;
      replacements.push_back(begin == Extent(0) ? subscripts[d]
                                                : binary(BinaryOp::kAdd, subscripts[d], expr_of_polynomial(begin)));
    }
    for (std::size_t r = 0; r < from.reduce.size(); ++r)
      replacements.push_back(index_ref(static_cast<std::int32_t>(to.out.size() + r)));
    to.reduce = renamed_apart(from.reduce, to.out);
    to.monoid = from.monoid;
    to.fill = from.fill;
    const std::vector<const Label*> labels = labels_of(to);
    const auto placed = [&](const Expr& e) {
      return e ? with_settled_subscripts(program_, substitute_labels(e, replacements), labels) : e;
    };
    to.bodies = {placed(from.bodies[0])};
    to.guard = placed(from.guard);
    if (program_.info(copy.results[0]).name.empty())
      program_.values[static_cast<std::size_t>(copy.results[0].id)].name = program_.info(source.results[0]).name;
    copy.range = source.range;
    context_.applied(source.range, "computed in the order and shape in which it is used");
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program relabel(const Program& program, PassContext& context) { return Relabelling(program, context).run(); }

}  // namespace tdsl::passes
