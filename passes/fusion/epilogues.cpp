// Computes the element-wise operator that follows a matrix product in the loops of the product: the product is never
// stored as a tensor, and its blocks are still in cache when the epilogue reads them.
//
//     %5 = compute [i in 0..%0, j in 0..%2] sum[k in 0..%1] (mul(%3[i, k], %4[k, j]))
//     %6 = compute [i in 0..%0, j in 0..%2] (relu(add(%5[i, j], %7[j])))
// becomes
//     %6 = epilogue [i in 0..%0, j in 0..%2] at ([0, 1], [0, 1]) () {
//       %5 = compute [i in 0..%0, j in 0..%2] sum[k in 0..%1] (mul(%3[i, k], %4[k, j]))
//       %8 = compute [i in 0..%0, j in 0..%2] (relu(add(%5[i, j], %7[j])))
//       yield %8
//     }
//
// The product has one reader, of the same element type, which reads it and everything else at its own index variables.
// No cost model is needed: one tensor less is written and read, and the product uses the same calls.

#include "passes/passes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/computes.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

class Epilogues : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      const std::optional<std::size_t> product = product_ahead(region, k);
      if (product) build(region, *product, k--);
    }
  }

  /// The last product before node `k` that the node can follow.
  [[nodiscard]] std::optional<std::size_t> product_ahead(const Region& region, std::size_t k) const {
    const Node& node = region.nodes[k];
    const auto* after = std::get_if<Compute>(&node.op);
    if (after == nullptr || !is_elementwise(*after) || after->out.empty() || after->fill ||
        is_special(node.results[0]) || can_fail(program_, *after))
      return std::nullopt;
    std::set<ValueId> read = values_read(*after);
    std::erase_if(read, [&](ValueId v) { return use_counts_[static_cast<std::size_t>(v.id)] != 1; });
    for (std::size_t p = k; p-- > 0 && !read.empty();) {
      const Node& candidate = region.nodes[p];
      if (candidate.results.size() != 1 || read.erase(candidate.results[0]) == 0) continue;
      const Compute* product = matrix_product(candidate);
      if (product != nullptr && follows(*product, candidate.results[0], *after, node.results[0]) &&
          !replaced_between(values_read(*product), region, p + 1, k))
        return p;
    }
    return std::nullopt;
  }

  /// True for values whose blocks are not plain dense blocks.
  [[nodiscard]] bool is_special(ValueId v) const { return program_.type(v).has_sparse(); }

  [[nodiscard]] const Compute* matrix_product(const Node& node) const {
    const auto* c = std::get_if<Compute>(&node.op);
    if (c == nullptr) return nullptr;
    const bool plain = c->left.empty() && !c->base && !c->combine && !c->fill && !c->in_any_order &&
                       program_.info(node.results[0]).tile.empty();
    if (!plain || is_special(node.results[0]) || can_fail(program_, *c) ||
        std::ranges::any_of(values_read(*c), [&](ValueId v) { return is_special(v); }))
      return nullptr;
    const std::optional<Contraction> found = contraction_of(*c, shifted_labels);
    return found && found->rows != 0 && found->columns != 0 ? c : nullptr;
  }

  /// True if each element of `after` depends only on the product's element at the same position and on reads at its own
  /// index variables.
  [[nodiscard]] bool follows(const Compute& product, ValueId value, const Compute& after, ValueId result) const {
    const auto from_zero = [](const Label& l) { return l.begin == Extent(0); };
    if (program_.type(value).scalar != program_.type(result).scalar || !std::ranges::all_of(after.out, from_zero))
      return false;
    if (!std::ranges::equal(product.out, after.out,
                            [](const Label& a, const Label& b) { return a.begin == b.begin && a.end == b.end; }))
      return false;
    bool reads_it = false;
    bool plain = true;
    for_each_read(after, [&](const Read& r) {
      for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
        const std::int32_t label = bare_label(r.subscripts[d]);
        plain = plain && label >= 0 && (r.tensor != value || label == static_cast<std::int32_t>(d));
      }
      reads_it = reads_it || r.tensor == value;
      plain = plain && !is_special(r.tensor);
    });
    return reads_it && plain;
  }

  void build(Region& region, std::size_t p, std::size_t k) {
    Node& after = region.nodes[k];
    const ValueId result = after.results[0];
    const ValueInfo info = program_.info(result);
    const ValueId inside = program_.new_value(info.type, info.name, info.range);
    use_counts_.push_back(1);
    context_.applied(region.nodes[p].range,
                     "followed by what reads it, while its blocks are in cache: it is never stored");
    Fused op;
    op.epilogue = true;
    op.shared = std::get<Compute>(after.op).out;
    op.labels.assign(2, leading_labels(op.shared.size()));
    Node node{after.range, {result}, {}};
    after.results = {inside};
    op.body.nodes.push_back(std::move(region.nodes[p]));
    op.body.nodes.push_back(std::move(after));
    op.body.yields = {inside};
    node.op = std::move(op);
    region.nodes[k] = std::move(node);
    region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(p));
  }

  std::vector<int> use_counts_ = use_counts(program_);
};

}  // namespace

Program epilogues(const Program& program, PassContext& context) { return Epilogues(program, context).run(); }

}  // namespace tdsl::passes
