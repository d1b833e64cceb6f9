// Reads through copies. Replaces a copy of a whole tensor by the tensor; reads a transpose, slice or other affine view
// through its index map wherever the subscripts are provably in bounds.
//
//     %2 = compute [i in 0..%0, j in 0..%0] (%1[j, i])
//     %3 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%2[i, j], %1[j, k]))
// becomes (with dead_code)
//     %3 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%1[j, i], %1[j, k]))
//
// Keeps copies between different storage formats.

#include "passes/passes.h"

#include <algorithm>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "passes/loops/subscripts.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The read that is the whole body of a copying Compute, or null.
const Read* copied_element(const Compute& c) {
  return is_elementwise(c) ? std::get_if<Read>(&c.bodies[0]->op) : nullptr;
}

/// True if the node is `result = source`, element by element, in the same storage format.
bool is_identity(const Program& program, const Node& node, const Compute& c, const Read& r) {
  const Type& to = program.type(node.results[0]);
  const Type& from = program.type(r.tensor);
  if (r.subscripts.size() != c.out.size() || !(to.shape == from.shape) || to.scalar != from.scalar) return false;
  if (!(to.format == from.format)) return false;
  for (std::size_t d = 0; d < c.out.size(); ++d) {
    const Label& l = c.out[d];
    if (bare_label(r.subscripts[d]) != static_cast<std::int32_t>(d)) return false;
    if (!(l.begin == Extent(0)) || !(l.end == from.shape[d])) return false;
  }
  return true;
}

/// True if the subscripts only permute elements: labels, integers and scalars, no tensor elements.
bool is_view(const Read& r) {
  return std::ranges::all_of(r.subscripts, [](const Expr& e) {
    bool simple = node_count(e) <= 24;
    for_each_read(e, [&](const Read& inner) { simple = simple && inner.subscripts.empty(); });
    return simple;
  });
}

class CopyPropagation : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    // Copies are left to dead_code: the table of definitions points into the region.
    for (Node& node : region.nodes) {
      rename_operands(node, renames_);
      if (auto* c = std::get_if<Compute>(&node.op)) {
        forward(node, *c);
        replace(node, *c);
      }
      rewrite_inside(node);
    }
    for (ValueId& v : region.yields) v = renamed(renames_, v);
  }

  void replace(const Node& node, const Compute& c) {
    const Read* r = copied_element(c);
    if (r != nullptr && is_identity(program_, node, c, *r)) renames_.insert({node.results[0], r->tensor});
  }

  /// Replaces reads of views in the expressions of `c`.
  void forward(const Node& node, Compute& c) {
    const std::vector<const Label*> labels = labels_of(c);
    bool changed = false;
    rewrite_expressions(c, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const auto* r = std::get_if<Read>(&x->op);
        Expr through = r == nullptr ? Expr() : read_through(x, *r, labels);
        changed = changed || through;
        return through ? through : x;
      });
    });
    if (changed) context_.applied(node.range, "reads through a view instead of a copy");
  }

  /// The element of the original that `r` reads through a view, or null.
  Expr read_through(const Expr& e, const Read& r, const std::vector<const Label*>& labels) const {
    const Compute* view = compute_of(table_, r.tensor);
    const Read* source = view == nullptr || view->out.empty() ? nullptr : copied_element(*view);
    if (source == nullptr || source->subscripts.empty() || !is_view(*source)) return {};
    if (program_.type(r.tensor).has_sparse() || program_.type(source->tensor).has_sparse()) return {};
    if (read_may_fail(program_, r, labels) || can_fail(program_, *view)) return {};
    std::vector<Expr> arguments;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      arguments.push_back(binary(BinaryOp::kAdd, r.subscripts[d], expr_of_polynomial(view->out[d].begin)));
    }
    std::vector<Expr> subscripts;
    const Subscripts known(program_.type(source->tensor), labels);
    for (const Expr& s : source->subscripts) {
      subscripts.push_back(known.settled(substitute_labels(s, arguments)));
      if (divides_labels(subscripts.back()))
        return {};  // a copy divides once per element, its readers possibly many times
    }
    return read(e->type, source->tensor, std::move(subscripts), e->range);
  }

  std::vector<const Node*> table_ = definitions(program_);
};

}  // namespace

Program copy_propagation(const Program& program, PassContext& context) {
  return CopyPropagation(program, context).run();
}

}  // namespace tdsl::passes
