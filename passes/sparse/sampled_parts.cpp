#include "passes/sparse/sampled_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The element of a sparse matrix, and the product in which it is a factor.
struct SparseProduct {
  Expr product;
  Read element;
};

class SampledParts : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_node(Node node, std::vector<Node>& earlier) override {
    if (auto* c = std::get_if<Compute>(&node.op)) {
      if (const auto part = part_of(node, *c, earlier)) separate(node.range, *c, *part, earlier);
    }
    keep(std::move(node), earlier);
  }

  [[nodiscard]] std::optional<SparseProduct> part_of(const Node& node, const Compute& c,
                                                     const std::vector<Node>& earlier) const {
    if (c.bodies.size() != 1 || !c.left.empty() || c.base || c.in_any_order) return std::nullopt;
    const auto part = found_in(c.bodies[0], c);
    if (!part || !reads_product(*part, c, earlier)) return std::nullopt;
    // An operation over stored elements alone needs no separate product.
    Program marked = program_;
    for (const ValueId v : values_read(c)) marked.values[static_cast<std::size_t>(v.id)].type.format.compress(true);
    const bool sparse = program_.type(node.results[0]).has_sparse();
    return sparse || sparse_iteration(marked, c, false) ? std::nullopt : part;
  }

  /// The outermost product with a sparse factor at two index variables that depends on no others.
  [[nodiscard]] std::optional<SparseProduct> found_in(const Expr& e, const Compute& c) const {
    if (const auto* element = sparse_factor(e)) {
      const std::set<std::int32_t> labels{bare_label(element->subscripts[0]), bare_label(element->subscripts[1])};
      if (labels_in(e) == labels && covers(c, *element)) return SparseProduct{e, *element};
    }
    for (const Expr& part : children(*e)) {
      if (auto found = found_in(part, c)) return found;
    }
    return std::nullopt;
  }
  /// The element of a sparse matrix, read at two index variables, where that is a factor of the product; else null.
  [[nodiscard]] const Read* sparse_factor(const Expr& e) const {
    const auto* b = std::get_if<Binary>(&e->op);
    if (b == nullptr || (b->op != BinaryOp::kAbsentMul && b->op != BinaryOp::kMutualMul)) return nullptr;
    for (const Expr& side : {b->left, b->right}) {
      if (const auto* r = std::get_if<Read>(&side->op)) {
        const bool at_labels = r->subscripts.size() == 2 && bare_label(r->subscripts[0]) >= 0 &&
                               bare_label(r->subscripts[1]) >= 0 && !equal(r->subscripts[0], r->subscripts[1]);
        if (at_labels && program_.type(r->tensor).has_sparse()) return r;
      } else if (const Read* inner = sparse_factor(side)) {
        return inner;
      }
    }
    return nullptr;
  }
  [[nodiscard]] bool covers(const Compute& c, const Read& element) const {
    const std::vector<Extent>& shape = program_.type(element.tensor).shape;
    for (std::size_t d = 0; d < 2; ++d) {
      const Label& l = label_of(c, bare_label(element.subscripts[d]));
      if (!(l.begin == Extent(0)) || !(l.end == shape[d])) return false;
    }
    return true;
  }

  /// True if the part reads a dense matrix, itself a reduction, that nothing else reads.
  [[nodiscard]] bool reads_product(const SparseProduct& part, const Compute& c,
                                   const std::vector<Node>& earlier) const {
    std::vector<ValueId> inside, all;
    for_each_read(part.product, [&](const Read& r) { inside.push_back(r.tensor); });
    for_each_read(c, [&](const Read& r) { all.push_back(r.tensor); });
    bool found = false;
    for_each_read(part.product, [&](const Read& r) {
      const bool only = use_counts_[static_cast<std::size_t>(r.tensor.id)] == 1 &&
                        std::ranges::count(all, r.tensor) == std::ranges::count(inside, r.tensor);
      if (!only || program_.type(r.tensor).has_sparse()) return;
      const auto made = std::ranges::find_if(
          earlier, [&](const Node& n) { return n.results.size() == 1 && n.results[0] == r.tensor; });
      const auto* c = made == earlier.end() ? nullptr : std::get_if<Compute>(&made->op);
      found = found || (c != nullptr && c->monoid && c->out.size() == 2 && r.subscripts.size() == 2);
    });
    return found;
  }

  /// Computes the part ahead, in the order of the sparse matrix.
  void separate(const SourceRange& range, Compute& c, const SparseProduct& part, std::vector<Node>& earlier) {
    const std::int32_t row = bare_label(part.element.subscripts[0]), column = bare_label(part.element.subscripts[1]);
    std::vector<Expr> labels(c.out.size() + c.reduce.size());
    labels[static_cast<std::size_t>(row)] = index_ref(0);
    labels[static_cast<std::size_t>(column)] = index_ref(1);
    Compute ahead;
    ahead.out = {label_of(c, row), label_of(c, column)};
    ahead.bodies = {substitute_labels(part.product, labels)};
    if (can_fail(program_, ahead)) return;
    const Type type{part.product->type, program_.type(part.element.tensor).shape, {}};
    const ValueId v = program_.new_value(type, "", range);
    use_counts_.push_back(1);
    const Expr element = read(part.product->type, v, {index_ref(row), index_ref(column)}, part.product->range);
    rewrite_expressions(c, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) { return equal(x, part.product) ? element : x; });
    });
    earlier.push_back(Node{range, {v}, std::move(ahead)});
    context_.applied(range, "its product with " + quoted(program_, part.element.tensor, "a sparse matrix") +
                                " is computed ahead, over the stored elements alone");
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program sampled_parts(const Program& program, PassContext& context) { return SampledParts(program, context).run(); }

}  // namespace tdsl::passes
