// Brings computations that differ only in spelling into one form: operands of commutative operators in a fixed order, a
// > b as b < a, index variables in order of appearance, values numbered in order of definition. Names are ignored.
// Exact: only operands of one operator are swapped. Reduce labels are reordered for sum, prod, min, max, any and all,
// which may be reassociated up to rounding.
//
//     %7 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%5[j, k], %4[i, j]))
// becomes
//     %5 = compute [i in 0..%0, k in 0..%1] sum[j in 0..%2] (mul(%3[i, j], %4[j, k]))
//
// Removes unused entries of Program::values.

#include "passes/passes.h"

#include <algorithm>
#include <compare>
#include <set>

#include "ir/graph/computes.h"
#include "ir/graph/procedure.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Total order of expressions. If `masked`, all labels >= `first_reduce` compare equal, so that the order does not
/// depend on the numbering of reduce labels.
class ExprOrder {
 public:
  ExprOrder(std::int32_t first_reduce, bool masked) : first_reduce_(first_reduce), masked_(masked) {}

  [[nodiscard]] std::strong_ordering compare(const Expr& a, const Expr& b) const {
    if (const auto c = labels_of(a) <=> labels_of(b); c != 0) return c;
    return compare_trees(a, b);
  }

 private:
  [[nodiscard]] std::int32_t visible(std::int32_t label) const {
    return masked_ ? std::min(label, first_reduce_) : label;
  }

  [[nodiscard]] std::vector<std::int32_t> labels_of(const Expr& e) const {
    std::set<std::int32_t> found;
    for (const std::int32_t label : labels_in(e)) found.insert(visible(label));
    return {found.begin(), found.end()};
  }

  [[nodiscard]] std::strong_ordering compare_trees(const Expr& a, const Expr& b) const {
    if (const auto c = a->op.index() <=> b->op.index(); c != 0) return c;
    if (const auto c = a->type <=> b->type; c != 0) return c;
    if (const auto c = own_key(a->op) <=> own_key(b->op); c != 0) return c;
    if (const auto* x = std::get_if<Apply>(&a->op)) {
      if (const auto c = x->procedure->text <=> std::get<Apply>(b->op).procedure->text; c != 0) return c;
    }
    const Children left = children(*a);
    const Children right = children(*b);
    if (const auto c = left.size() <=> right.size(); c != 0) return c;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (const auto c = compare_trees(left[k], right[k]); c != 0) return c;
    }
    return std::strong_ordering::equal;
  }

  [[nodiscard]] std::int64_t own_key(const ExprOp& op) const {
    const auto* index = std::get_if<IndexRef>(&op);
    return index != nullptr ? visible(index->label) : own_number(op);
  }

  std::int32_t first_reduce_;
  bool masked_;
};

Expr ordered(const Expr& e, const ExprOrder& order) {
  return rewrite(e, [&](const Expr& x) {
    const auto* b = std::get_if<Binary>(&x->op);
    if (b == nullptr) return x;
    if (b->op == BinaryOp::kGt) return binary(BinaryOp::kLt, b->right, b->left, x->range);
    if (b->op == BinaryOp::kGe) return binary(BinaryOp::kLe, b->right, b->left, x->range);
    if (!is_commutative(b->op, x->type) || order.compare(b->left, b->right) <= 0) return x;
    return binary(b->op, b->right, b->left, x->range);
  });
}

/// Labels in order of first appearance in the expressions, followed by labels that do not appear.
std::vector<std::int32_t> appearance(const std::vector<Expr>& expressions, std::int32_t first, std::int32_t last) {
  std::vector<std::int32_t> order;
  const auto add = [&](std::int32_t label) {
    if (label >= first && label < last && std::ranges::count(order, label) == 0) order.push_back(label);
  };
  for (const Expr& e : expressions) {
    for_each_node(e, [&](const ExprNode& n) {
      if (const auto* i = std::get_if<IndexRef>(&n.op)) add(i->label);
    });
  }
  for (std::int32_t label = first; label < last; ++label) add(label);
  return order;
}

void permute(Compute& c, std::vector<Label>& labels, std::int32_t first, const std::vector<std::int32_t>& order) {
  std::vector<Expr> replacements(c.out.size() + c.reduce.size());
  std::vector<Label> permuted;
  for (std::size_t k = 0; k < order.size(); ++k) {
    permuted.push_back(labels[static_cast<std::size_t>(order[k] - first)]);
    replacements[static_cast<std::size_t>(order[k])] = index_ref(first + static_cast<std::int32_t>(k));
  }
  labels = std::move(permuted);
  rewrite_expressions(c, [&](const Expr& e) { return substitute_labels(e, replacements); });
}

void canonicalise_compute(Compute& c) {
  const auto outs = static_cast<std::int32_t>(c.out.size());
  const auto all = outs + static_cast<std::int32_t>(c.reduce.size());
  if (!c.left.empty() && (!c.combine || combines_freely(*c.combine))) permute(c, c.out, 0, appearance(c.left, 0, outs));
  for (const bool masked : {true, false}) {
    const ExprOrder order(outs, masked);
    rewrite_expressions(c, [&](const Expr& e) { return ordered(e, order); });
    if (masked && c.monoid && combines_freely(*c.monoid)) {
      std::vector<Expr> expressions = c.bodies;
      if (c.guard) expressions.push_back(c.guard);
      permute(c, c.reduce, outs, appearance(expressions, outs, all));
    }
  }
}

// Numbering.

void collect(const Region& region, std::vector<ValueId>& order) {
  order.insert(order.end(), region.arguments.begin(), region.arguments.end());
  for (const Node& node : region.nodes) {
    for (const Region* inner : regions_in(node)) collect(*inner, order);
    order.insert(order.end(), node.results.begin(), node.results.end());
  }
}

void number_definitions(Region& region, const ValueMap& map) {
  for (ValueId& v : region.arguments) v = map.at(v);
  for (Node& node : region.nodes) {
    for (ValueId& v : node.results) v = map.at(v);
    for (Region* inner : regions_in(node)) number_definitions(*inner, map);
  }
}

/// Numbers values in order of definition. Renames via numbers beyond the old ones, since renaming follows chains.
void renumber(Program& program) {
  std::vector<ValueId> order;
  collect(program.body, order);
  const auto beyond = static_cast<std::int32_t>(program.values.size());
  ValueMap up;
  ValueMap down;
  std::vector<ValueInfo> values;
  for (const ValueId v : order) {
    const auto number = static_cast<std::int32_t>(values.size());
    up.insert({v, {beyond + number}});
    down.insert({ValueId{beyond + number}, {number}});
    values.push_back(program.info(v));
  }
  program.values = std::move(values);
  rename_everywhere(program, up);
  number_definitions(program.body, up);
  rename_everywhere(program, down);
  number_definitions(program.body, down);
}

}  // namespace

Program canonicalise(const Program& source, PassContext& /*context*/) {
  Program program = source;
  renumber(program);
  for_each_compute(program.body, [](Node&, Compute& c) { canonicalise_compute(c); });
  return program;
}

}  // namespace tdsl::passes
