// Re-associates chains of matrix products, (A B) C into A (B C), by the classical dynamic program over scalar
// multiplications (Godbole 1973; Cormen et al., section 14.2), if every intermediate product has one use. Sizes may be
// symbolic: an order is better if it is cheaper for all sizes >= 2. If the best order depends on sizes, the chain keeps
// its order, and `start_choices` defers the decision to the start of the run. A vector at the end counts as a matrix
// with one column.
//
//     %4 = compute [i in 0..%0, k in 0..%0] sum[j in 0..%0] (mul(%1[i, j], %2[j, k]))
//     %5 = compute [i in 0..%0] sum[k in 0..%0] (mul(%4[i, k], %3[k]))
// becomes
//     %6 = compute [i in 0..%0] sum[k in 0..%0] (mul(%2[i, k], %3[k]))
//     %5 = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %6[k]))
//
// Only changes the rounding of float sums within the chain. Precondition: operands of products are reads (after
// copy_propagation).

#include "passes/passes.h"

#include <string>
#include <utility>
#include <vector>

#include "passes/algebra/costs.h"
#include "passes/algebra/product_chain.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class ChainOrder : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    std::vector<bool> removed(region.nodes.size(), false);
    settled_.assign(region.nodes.size(), false);
    std::vector<std::vector<Node>> replacement(region.nodes.size());
    // Backwards, so that the longest chain is found first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (removed[k] || settled_[k]) continue;
      const auto chain = chain_at(region, k, use_counts_, removed);
      if (!chain) continue;
      reorder(region, k, *chain, removed, replacement[k]);
    }
    std::vector<Node> nodes;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (removed[k]) continue;
      if (replacement[k].empty()) nodes.push_back(std::move(region.nodes[k]));
      for (Node& n : replacement[k]) nodes.push_back(std::move(n));
    }
    region.nodes = std::move(nodes);
  }

  /// Marks the products inside the chain as done.
  void settle(const ProductChain& chain) {
    for (const std::size_t node : chain.absorbed) settled_[node] = true;
  }

  void reorder(const Region& region, std::size_t k, const ProductChain& chain, std::vector<bool>& removed,
               std::vector<Node>& into) {
    const Node& root = region.nodes[k];
    if (chain.factors.size() > kLongestChain) {
      settle(chain);
      context_.refused(root.range, "a chain of more than " + std::to_string(kLongestChain) +
                                       " products is computed in the order written");
      return;
    }
    ProductOrder order(chain);
    if (chain.factors.size() > kLongestSymbolicChain || !order.solve()) {
      context_.refused(root.range,
                       "the order of this chain of products depends on sizes, which are known when the program starts");
      return;
    }
    const auto better = cheaper(order.cost(), written_cost(region, k, chain));
    if (!better) {
      context_.refused(root.range,
                       "the order of this chain of products depends on sizes, which are known when the program starts");
      return;
    }
    if (!*better) return settle(chain);  // subchains of an optimal order are optimal
    for (const std::size_t node : chain.absorbed) removed[node] = true;
    emit(root, chain, order, 0, chain.factors.size() - 1, into);
    context_.applied(root.range, "the chain of products is computed in the order of fewest multiplications");
  }

  /// Emits the product of factors first..last and returns it as a factor.
  Factor emit(const Node& root, const ProductChain& chain, const ProductOrder& order, std::size_t first,
              std::size_t last, std::vector<Node>& into) {
    if (first == last) return chain.factors[first];
    const std::size_t split = order.split(first, last);
    const Factor left = emit(root, chain, order, first, split, into);
    const Factor right = emit(root, chain, order, split + 1, last, into);
    const bool whole = first == 0 && last + 1 == chain.factors.size();
    const Compute& shape = std::get<Compute>(root.op);
    const Scalar s = shape.bodies[0]->type;
    Compute c;
    Type type{s, {chain.sizes[first]}, {}};
    c.out.push_back({"i", 0, chain.sizes[first]});
    if (!right.vector) {
      c.out.push_back({"j", 0, chain.sizes[last + 1]});
      type.shape.push_back(chain.sizes[last + 1]);
    }
    c.reduce.push_back({"k", 0, chain.sizes[split + 1]});
    c.monoid = shape.monoid;
    const auto inner = static_cast<std::int32_t>(c.out.size());
    c.bodies.push_back(binary(BinaryOp::kMul, element(s, left, 0, inner), element(s, right, inner, 1), root.range));
    const ValueId v = whole ? root.results[0] : program_.new_value(type, "", root.range);
    into.push_back({root.range, {v}, std::move(c)});
    return {v, false, right.vector};
  }

  static Expr element(Scalar s, const Factor& f, std::int32_t row, std::int32_t column) {
    if (f.vector) return read(s, f.tensor, {index_ref(row)});
    if (f.transposed) std::swap(row, column);
    return read(s, f.tensor, {index_ref(row), index_ref(column)});
  }

  std::vector<int> use_counts_ = use_counts(program_);
  std::vector<bool> settled_;  ///< by position in the region
};

}  // namespace

Program chain_order(const Program& program, PassContext& context) { return ChainOrder(program, context).run(); }

}  // namespace tdsl::passes
