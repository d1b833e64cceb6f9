// Fuses operators over the rows of the same tensors into one loop nest, so that the values of a row are still in cache
// when the next operator needs them, and are never stored as a whole tensor:
//
//     %5 = compute [i in 0..%0] sum[j in 0..%1] (mul(%2[i, j], %3[j]))
//     %6 = compute [j in 0..%1] sum[i in 0..%0] (mul(%2[i, j], %5[i]))
// becomes
//     %6 = fused [i in 0..%0] at ([0], [1]) () {
//       %5 = compute [i in 0..%0] sum[j in 0..%1] (mul(%2[i, j], %3[j]))
//       %7 = compute [j in 0..%1] sum[i in 0..%0] (mul(%2[i, j], %5[i]))
//       yield %7
//     }
//
// Fusion pays off if it saves a second read of, or avoids storing, a tensor as large as the tensors that the nest reads
// by rows. A producer is absorbed if only the nest reads it, at the shared index variables. Operators with more points
// than elements of an operand (matrix products) join if their result is reduced in the nest, or if an operand comes
// from the nest. Their other operand is needed whole by every task, which costs more than it saves if it is large:
// unless it is provably small, the nest and the original operators become the two variants of a `choose`.

#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

class RowFusion : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  /// The labels of an operator that the nest runs over.
  using Shared = SharedLabels;
  /// The nodes of one nest, by position in the region, each with its shared labels.
  using Nest = std::map<std::size_t, Shared>;

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    // Backwards, so that a nest is found from its last operator.
    for (std::size_t k = region.nodes.size(); k-- > 0;) k = fuse(region, k);
  }

  /// Builds the nest that ends with the node, if one pays off. Returns the node's new position.
  std::size_t fuse(Region& region, std::size_t k) {
    for (const bool multiplies : {true, false}) {
      if (multiplies && !may_multiply_) continue;
      multiplies_ = multiplies;
      const Nest nest = best_nest(region, k);
      if (nest.size() > 1 && (holds_products(region, nest) ? multiplies_well(region, nest) : pays(region, nest)))
        return build(region, nest);
    }
    return k;
  }

  /// The nest with most operators; ties go to the one over most labels, which has most tasks.
  Nest best_nest(const Region& region, std::size_t seed) const {
    const Compute* c = nest_operator(program_, region.nodes[seed]);
    Nest best;
    if (c == nullptr) return best;
    for (const Shared& shared : row_candidates(*c)) {
      if (!fits_rows(program_, *c, shared, multiplies_)) continue;
      Nest nest = grown(region, seed, shared);
      if (nest.size() > best.size() ||
          (nest.size() == best.size() && !nest.empty() && shared.size() > best.at(seed).size()))
        best = std::move(nest);
    }
    return best;
  }

  /// The nest that ends with the operator and runs over these of its labels.
  Nest grown(const Region& region, std::size_t seed, const Shared& shared) const {
    Nest nest{{seed, shared}};
    const Shared rows = leading_labels(shared.size());
    for (std::size_t k = seed; k-- > 0;) {
      const Compute* c = nest_operator(program_, region.nodes[k]);
      if (c == nullptr || c->out.size() < rows.size() || !fits_rows(program_, *c, rows, multiplies_) ||
          !read_by_rows(region, nest, region.nodes[k].results[0], *c))
        continue;
      if (!replaced_between(values_read(*c), region, k + 1, seed)) nest.emplace(k, rows);
    }
    return nest;
  }

  /// True if only operators of the nest read the value of this Compute, each at its shared labels.
  bool read_by_rows(const Region& region, const Nest& nest, ValueId v, const Compute& producer) const {
    int readers = 0;
    for (const auto& [k, shared] : nest) {
      const auto& c = std::get<Compute>(region.nodes[k].op);
      bool reads_it = false;
      bool by_rows = true;
      for (std::size_t f = 0; f < shared.size(); ++f)
        by_rows = by_rows && label_of(c, shared[f]).end == producer.out[f].end;
      for_each_read(c, [&](const Read& r) {
        if (r.tensor != v) return;
        reads_it = true;
        for (std::size_t f = 0; f < shared.size(); ++f)
          by_rows = by_rows && f < r.subscripts.size() && bare_label(r.subscripts[f]) == shared[f];
      });
      if (reads_it && !by_rows) return false;
      readers += reads_it ? 1 : 0;
    }
    return readers > 0 && use_counts_[static_cast<std::size_t>(v.id)] == readers;
  }

  /// True if the nest saves the second read, or the storage, of a value as large as the largest tensor that it reads by
  /// rows.
  bool pays(const Region& region, const Nest& nest) const {
    std::map<ValueId, int> readers;
    std::set<ValueId> stored;
    for (const auto& [k, shared] : nest) {
      std::set<ValueId> of_this;
      for_each_read(std::get<Compute>(region.nodes[k].op), [&](const Read& r) {
        if (!r.subscripts.empty() && bare_label(r.subscripts[0]) == shared[0]) of_this.insert(r.tensor);
      });
      for (const ValueId v : of_this) ++readers[v];
      stored.insert(region.nodes[k].results[0]);
    }
    std::size_t most = 0;
    for (const auto& [v, count] : readers) most = std::max(most, program_.type(v).rank());
    return std::ranges::any_of(readers, [&](const auto& entry) {
      return program_.type(entry.first).rank() == most && (entry.second > 1 || stored.contains(entry.first));
    });
  }

  [[nodiscard]] static bool holds_products(const Region& region, const Nest& nest) {
    return std::ranges::any_of(nest, [&](const auto& entry) {
      return !streams_rows(std::get<Compute>(region.nodes[entry.first].op), entry.second);
    });
  }

  /// True if products have an operand from the nest, or a result that the nest reduces, so that a value of their size
  /// is never stored. If only element-wise operators follow, separate products are faster.
  [[nodiscard]] static bool multiplies_well(const Region& region, const Nest& nest) {
    for (const auto& [k, shared] : nest) {
      const auto& c = std::get<Compute>(region.nodes[k].op);
      if (streams_rows(c, shared)) continue;
      if (!reads_members(region, nest, c) && !is_reduced(region, nest, k)) return false;
    }
    return true;
  }
  [[nodiscard]] static bool reads_members(const Region& region, const Nest& nest, const Compute& c) {
    const std::set<ValueId> read = values_read(c);
    return std::ranges::any_of(nest,
                               [&](const auto& entry) { return read.contains(region.nodes[entry.first].results[0]); });
  }
  /// True if an operator reduces the value of this one, perhaps through others.
  [[nodiscard]] static bool is_reduced(const Region& region, const Nest& nest, std::size_t product) {
    std::set<ValueId> from{region.nodes[product].results[0]};
    for (auto entry = nest.upper_bound(product); entry != nest.end(); ++entry) {
      const Node& node = region.nodes[entry->first];
      const auto& c = std::get<Compute>(node.op);
      const std::set<ValueId> read = values_read(c);
      if (std::ranges::none_of(read, [&](ValueId v) { return from.contains(v); })) continue;
      if (!c.reduce.empty()) return true;
      from.insert(node.results[0]);
    }
    return false;
  }

  /// True if the shared operands of products, and the results of products of rows, provably fit in cache.
  [[nodiscard]] bool is_small(const Region& region, const Nest& nest) const {
    for (const auto& [k, shared] : nest) {
      const auto& c = std::get<Compute>(region.nodes[k].op);
      if (!streams_rows(c, shared) && !is_small_product(c, shared)) return false;
    }
    return true;
  }

  /// Puts the nest at the position of its last operator, as a choice with the original operators if the faster one
  /// depends on sizes. Returns that position.
  std::size_t build(Region& region, const Nest& nest) {
    const bool chosen =
        context_.options().fusion == FusionPolicy::kCost && holds_products(region, nest) && !is_small(region, nest);
    std::vector<Node> members;
    std::vector<Shared> labels;
    for (const auto& [k, shared] : nest) {
      members.push_back(std::move(region.nodes[k]));
      labels.push_back(shared);
    }
    const std::size_t last = nest.rbegin()->first;
    const SourceRange range = members.back().range;
    const std::vector<ValueId> results = members.back().results;
    for (std::size_t m = 0; m + 1 < members.size(); ++m)
      context_.applied(members[m].range, "computed by rows, in the loops of its consumer");
    if (!chosen) {
      region.nodes[last] = fused(std::move(members), std::move(labels), results);
    } else {
      context_.applied(range,
                       "in two forms: by rows, or one operator after the other; sizes decide when the program starts");
      Choose choose{{}, {"by rows", "one operator after the other"}};
      Region separate = copy_of(members);
      const std::vector<ValueId> inner{again(results[0])};
      Node node = fused(std::move(members), std::move(labels), inner);
      choose.regions.push_back({{}, {}, inner});
      choose.regions[0].nodes.push_back(std::move(node));
      choose.regions.push_back(std::move(separate));
      region.nodes[last] = Node{range, results, std::move(choose)};
    }
    std::size_t at = last;
    for (auto entry = std::next(nest.rbegin()); entry != nest.rend(); ++entry) {
      region.nodes.erase(region.nodes.begin() + static_cast<std::ptrdiff_t>(entry->first));
      --at;
    }
    return at;
  }

  /// A new value with the same info.
  ValueId again(ValueId v) {
    const ValueInfo info = program_.info(v);
    const ValueId fresh = program_.new_value(info.type, info.name, info.range);
    use_counts_.push_back(1);
    return fresh;
  }

  Node fused(std::vector<Node> members, std::vector<Shared> labels, const std::vector<ValueId>& results) {
    Fused op;
    for (const std::int32_t label : labels.back())
      op.shared.push_back(label_of(std::get<Compute>(members.back().op), label));
    const ValueId inside = again(results[0]);
    members.back().results = {inside};
    Node node{members.back().range, results, {}};
    op.labels = std::move(labels);
    op.body.nodes = std::move(members);
    op.body.yields = {inside};
    node.op = std::move(op);
    return node;
  }

  /// A copy of the operators with new names, which may be fused without products.
  Region copy_of(const std::vector<Node>& members) {
    Region region;
    Renaming names;
    for (const Node& n : members) {
      region.nodes.push_back(cloned(program_, n, names));
      rename(program_, region.nodes.back(), names);
    }
    region.yields = region.nodes.back().results;
    use_counts_.resize(program_.values.size(), 1);
    for (const auto& [from, to] : names)
      use_counts_[static_cast<std::size_t>(to.id)] =
          from == members.back().results[0] ? 1 : use_counts_[static_cast<std::size_t>(from.id)];
    const bool outer = std::exchange(may_multiply_, false);
    for (std::size_t k = region.nodes.size(); k-- > 0;) k = fuse(region, k);
    may_multiply_ = outer;
    return region;
  }

  std::vector<int> use_counts_ = use_counts(program_);
  bool may_multiply_ = true;  ///< nests may contain products
  bool multiplies_ = true;    ///< the nest being grown may contain products
};

}  // namespace

Program fuse_rows(const Program& program, PassContext& context) { return RowFusion(program, context).run(); }

}  // namespace tdsl::passes
