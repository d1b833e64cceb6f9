// Defers size-dependent choices to the start of the run: a chain of matrix products whose best order `chain_order`
// could not determine becomes one node, multiplied in the order of fewest multiplications once sizes are known.
//
//     %4 = compute [i in 0..%0, k in 0..%2] sum[j in 0..%1] (mul(%6[i, j], %7[j, k]))
//     %5 = compute [i in 0..%0, k in 0..%3] sum[j in 0..%2] (mul(%4[i, j], %8[j, k]))
// becomes
//     %5 = chain [%0, %1, %2, %3] (%6, %7, %8)
//
// A sum of products of three or more tensors becomes such a chain too, in whatever order it is written, or is marked if
// pairwise contraction can be cheaper:
//
//     %5 = compute [i in 0..%0, r in 0..%3] sum[j in 0..%1, k in 0..%2] (mul(mul(%6[i, j, k], %7[j, r]), %8[k, r]))
// becomes
//     %5 = compute in any order [i in 0..%0, r in 0..%3] sum[j in 0..%1, k in 0..%2] (mul(mul(%6[i, j, k], %7[j, r]),
//     %8[k, r]))
//
// Loops that run as one task are left unchanged: they compute element by element. Only changes the rounding of float
// sums.

#include "passes/passes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/algebra/costs.h"
#include "passes/algebra/einsum.h"
#include "passes/algebra/product_chain.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class StartChoices : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    std::vector<bool> removed(region.nodes.size(), false);
    // Backwards, so that the longest chain is found first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) {
      if (!removed[k]) chain(region, k, removed);
    }
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (!removed[k]) contract(region.nodes[k]);
    }
    std::size_t k = 0;
    std::erase_if(region.nodes, [&](const Node&) { return removed[k++]; });
  }

  /// Turns a sum of products of several tensors into a chain, or marks it `in any order`.
  void contract(Node& node) {
    auto* c = std::get_if<Compute>(&node.op);
    const auto einsum = c == nullptr ? std::nullopt : einsum_of(program_, *c);
    if (!einsum) return;
    if (const auto chain = chain_of(*einsum)) {
      become_chain(node, *chain);
    } else if (gains_by_order(*einsum)) {
      c->in_any_order = true;
      context_.applied(node.range, "in which order these tensors are contracted is chosen when the program starts");
    }
  }

  void chain(Region& region, std::size_t k, std::vector<bool>& removed) {
    const auto chain = chain_at(region, k, use_counts_, removed);
    if (!chain || chain->factors.size() > kLongestChain || !is_dense(region.nodes[k], *chain) ||
        is_settled(region, k, *chain))
      return;
    for (const std::size_t absorbed : chain->absorbed) removed[absorbed] = true;
    become_chain(region.nodes[k], *chain);
  }

  void become_chain(Node& node, const ProductChain& chain) {
    Chain op;
    op.sizes = chain.sizes;
    for (const Factor& f : chain.factors) op.factors.push_back({f.tensor, f.transposed});
    context_.applied(node.range, "the order of this chain of products is chosen when the program starts, by the sizes");
    node.op = std::move(op);
  }

  /// True if the written order is optimal for all sizes.
  static bool is_settled(const Region& region, std::size_t k, const ProductChain& chain) {
    ProductOrder order(chain);
    return chain.factors.size() <= kLongestSymbolicChain && order.solve() &&
           cheaper(order.cost(), written_cost(region, k, chain)) == false;
  }

  [[nodiscard]] bool is_dense(const Node& root, const ProductChain& chain) const {
    return !program_.type(root.results[0]).has_sparse() && std::ranges::none_of(chain.factors, [this](const Factor& f) {
      return program_.type(f.tensor).has_sparse();
    });
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program start_choices(const Program& program, PassContext& context) { return StartChoices(program, context).run(); }

}  // namespace tdsl::passes
