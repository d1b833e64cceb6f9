// Fuses operators over the rows of the same tensors into one loop nest, so that a row's intermediate values are still
// in cache for the next operator and are never stored as whole tensors:
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
// Fusion pays if a tensor as large as the largest one read by rows is read once instead of twice, or is never stored. A
// value is absorbed if only the nest reads it, at the shared index variables. Operators with more points than the
// elements of an operand (matrix products) join if the nest reduces their results or computes their operands. Every
// task needs their other operand whole, which costs more than fusion saves if it is large: unless it is known to be
// small, the nest and the separate operators become the two forms of a `choose`.

#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

class RowFusion : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  /// Which labels of an operator the nest runs over.
  using Shared = SharedLabels;
  /// The nodes of one nest, by their places in the region, each with its shared labels.
  using Nest = std::map<std::size_t, Shared>;

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    // From the last node on, so that a nest is seen with its last operator first.
    for (std::size_t k = region.nodes.size(); k-- > 0;) k = fuse(region, k);
  }

  /// The nest that ends with the node, if one pays. Returns where the node is then.
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

  /// The one with most operators; of several, the one over most labels, which has most tasks.
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

  /// The nest that ends with the operator and runs over these labels of it.
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

  /// Whether operators of the nest are all that reads the value of this Compute, each at its shared labels.
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
    return readers > 0 && uses_[static_cast<std::size_t>(v.id)] == readers;
  }

  /// Whether something is saved that is as large as the largest tensor that is read by rows: one read instead of two,
  /// or a value never stored.
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

  /// Whether products are of values of the nest, or make values that are reduced there: something as large as they is
  /// never stored. Where only element-wise operators follow, products are faster by themselves.
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
  /// Whether an operator reduces what comes from this one, perhaps through others.
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

  /// Whether all that rows share in products, and what products of rows make, is known to stay in cache.
  [[nodiscard]] bool is_small(const Region& region, const Nest& nest) const {
    for (const auto& [k, shared] : nest) {
      const auto& c = std::get<Compute>(region.nodes[k].op);
      if (!streams_rows(c, shared) && !is_small_product(c, shared)) return false;
    }
    return true;
  }

  /// Puts the nest where its last operator is, beside the operators as they were if only sizes tell which is faster.
  /// Returns that place.
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
      context_.applied(members[m].range, "computed by rows, in the loops of what reads it");
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

  /// Another value like this one.
  ValueId again(ValueId v) {
    const ValueInfo info = program_.info(v);
    const ValueId fresh = program_.new_value(info.type, info.name, info.range);
    uses_.push_back(1);
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

  /// The same operators under other names, with nests that hold no products.
  Region copy_of(const std::vector<Node>& members) {
    Region region;
    Renaming names;
    for (const Node& n : members) {
      region.nodes.push_back(cloned(program_, n, names));
      rename(program_, region.nodes.back(), names);
    }
    region.yields = region.nodes.back().results;
    uses_.resize(program_.values.size(), 1);
    for (const auto& [from, to] : names)
      uses_[static_cast<std::size_t>(to.id)] =
          from == members.back().results[0] ? 1 : uses_[static_cast<std::size_t>(from.id)];
    const bool outer = std::exchange(may_multiply_, false);
    for (std::size_t k = region.nodes.size(); k-- > 0;) k = fuse(region, k);
    may_multiply_ = outer;
    return region;
  }

  std::vector<int> uses_ = use_counts(program_);
  bool may_multiply_ = true;  ///< nests may hold products
  bool multiplies_ = true;    ///< the nest that is looked for may
};

}  // namespace

Program fuse_rows(const Program& program, PassContext& context) { return RowFusion(program, context).run(); }

}  // namespace tdsl::passes
