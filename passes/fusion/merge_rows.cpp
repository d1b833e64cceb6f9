// Merges reductions over the rows of the same tensors into one loop nest with several results, so that the rows are
// read once for all of them, together with operators that only they read:
//
//     %3 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
//     %4 = compute [] max[i in 0..%0] (%1[i])
// becomes
//     %3, %4 = fused [i in 0..%0] at ([0], [0]) () {
//       %5 = compute [] sum[i in 0..%0] (mul(%1[i], %2[i]))
//       %6 = compute [] max[i in 0..%0] (%1[i])
//       yield %5, %6
//     }
//
// Members may be nests of `fuse_rows`, and sums by groups (`sum[i where a[i] == c](X[i, j])`, ir/graph/group.h), which
// add each row to the one element of its group; a single sum by groups becomes a nest too. Operators join if they share
// a tensor that is read by rows and is the largest that either of them reads, unless another operator depends on one of
// them and the other depends on that operator. All results have one type; counts among floats are counted in f64, which
// is exact. If an operator already has two variants, so does the merged nest.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/group.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

struct Member {
  Node node;
  SharedLabels shared;
};

/// The contribution of a region's node to a nest.
struct Part {
  std::vector<Member> members;  ///< the last one computes the value
  ValueId value;                ///< as named in the region
  bool chosen = false;          ///< the first of two variants
};

/// A nest: its nodes by position in the region.
using Parts = std::map<std::size_t, Part>;

const Compute& compute_in(const Member& m) { return std::get<Compute>(m.node.op); }
bool closes(const Member& m) { return aligned_labels(compute_in(m), m.shared) == 0; }
bool closes(const Part& p) { return closes(p.members.back()); }

std::vector<Extent> rows_of(const Member& m) {
  std::vector<Extent> rows;
  for (const std::int32_t l : m.shared) rows.push_back(label_of(compute_in(m), l).end);
  return rows;
}

/// The operator if it is a count, with `c == x` as a group, else nullopt. Counts below 2^53 are exact in f64.
std::optional<Compute> counting(const Compute& c) {
  const auto* number = std::get_if<Cast>(&c.bodies[0]->op);
  if (!c.monoid || c.monoid->kind != Monoid::Kind::kSum || c.bodies[0]->type != Scalar::kI64 || c.guard)
    return std::nullopt;
  if (number == nullptr || number->operand->type != Scalar::kBool) return std::nullopt;
  Compute counts = c;
  counts.guard = number->operand;
  if (group_of(counts)) {
    counts.bodies = {constant_i64(1)};
  } else {
    counts.guard = Expr();
  }
  return counts;
}
/// The count in f64 instead of i64.
Compute in_f64(Compute c) {
  const auto* number = std::get_if<Cast>(&c.bodies[0]->op);
  c.bodies = {number != nullptr ? cast(Scalar::kF64, number->operand, c.bodies[0]->range)
                                : float_constant(Scalar::kF64, 1)};
  return c;
}

class RowMerging : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  [[nodiscard]] bool enters(const Node& node) const override {
    return holds_operations(node) && !std::holds_alternative<Choose>(node.op);
  }

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    // Highest rank first: operators that read less of the same tensors join.
    for (std::size_t rank = most_dimensions(region); rank > 0; --rank) {
      look_up(region);
      for (std::size_t k = 0; k < region.nodes.size(); ++k) {
        const Parts nest = best_nest(region, k, rank);
        if (nest.empty()) continue;
        build(region, nest);
        look_up(region);
      }
    }
  }
  [[nodiscard]] std::size_t most_dimensions(const Region& region) const {
    std::size_t most = 0;
    for (const Node& node : region.nodes) {
      if (const auto* c = std::get_if<Compute>(&node.op))
        most = std::max(most, c->out.size() + c->reduce.size());
      else if (std::holds_alternative<Fused>(node.op) || std::holds_alternative<Choose>(node.op))
        most = std::max<std::size_t>(most, 8);
    }
    return most;
  }

  /// Caches per-node lookups.
  void look_up(const Region& region) {
    mentioned_.clear();
    closing_.clear();
    aligned_.clear();
    for (const Node& node : region.nodes) {
      mentioned_.push_back(mentioned(program_, node));
      closing_.push_back(parts_of(node, true));
      aligned_.push_back(parts_of(node, false));
    }
  }

  // --- Contributions of a node to a nest

  /// All ways in which the node can be part of a nest; `closing`: as a closing result, else as an aligned value.
  [[nodiscard]] std::vector<Part> parts_of(const Node& node, bool closing) const {
    if (const auto* f = std::get_if<Fused>(&node.op)) return nest_of(node, *f, false, closing);
    if (const auto* c = std::get_if<Choose>(&node.op)) {
      const Region& first = c->regions[0];
      const bool nest = c->regions.size() == 2 && first.nodes.size() == 1 && first.yields == first.nodes[0].results &&
                        !holds_choice(c->regions[1]);
      const auto* f = nest ? std::get_if<Fused>(&first.nodes[0].op) : nullptr;
      return f == nullptr ? std::vector<Part>{} : nest_of(node, *f, true, closing);
    }
    const Compute* c = nest_operator(program_, node, true);
    if (c == nullptr) return {};
    Node same = node;
    if (std::optional<Compute> counts = closing ? counting(*c) : std::nullopt) same.op = *std::move(counts);
    std::vector<Part> parts;
    for (SharedLabels& shared : row_candidates(std::get<Compute>(same.op))) {
      const auto& compute = std::get<Compute>(same.op);
      if ((aligned_labels(compute, shared) == 0) != closing || !fits_rows(program_, compute, shared, closing)) continue;
      if (closing && !combines_freely(*compute.monoid)) continue;
      parts.push_back({{{same, std::move(shared)}}, node.results[0], false});
    }
    return parts;
  }
  [[nodiscard]] static bool holds_choice(const Region& region) {
    return std::ranges::any_of(region.nodes, [](const Node& n) { return std::holds_alternative<Choose>(n.op); });
  }

  [[nodiscard]] static std::vector<Part> nest_of(const Node& node, const Fused& f, bool chosen, bool closing) {
    if (node.results.size() != 1 || f.body.yields[0] != f.body.nodes.back().results[0]) return {};
    Part part{{}, node.results[0], chosen};
    for (std::size_t m = 0; m < f.body.nodes.size(); ++m) part.members.push_back({f.body.nodes[m], f.labels[m]});
    if (closes(part) != closing) return {};
    return {std::move(part)};
  }

  // --- Selection of the nodes of a nest

  /// The largest nest whose first result is this node's, if that reads tensors of rank `rank`.
  [[nodiscard]] Parts best_nest(const Region& region, std::size_t k, std::size_t rank) const {
    Parts best;
    for (const Part& part : closing_[k]) {
      if (streams_of(part).rank != rank) continue;
      Parts nest = grown(region, k, part);
      const auto results = std::ranges::count_if(nest, [](const auto& p) { return closes(p.second); });
      if (results < 2 && !groups(region, nest)) continue;
      const bool better =
          best.empty() || nest.size() > best.size() ||
          (nest.size() == best.size() && part.members.back().shared.size() > best.at(k).members.back().shared.size());
      if (better) best = std::move(nest);
    }
    return best;
  }
  /// True if the nest is one sum by groups, alone or with its producers.
  static bool groups(const Region& region, const Parts& nest) {
    return std::ranges::any_of(nest, [&](const auto& p) {
      return std::holds_alternative<Compute>(region.nodes[p.first].op) && compute_in(p.second.members[0]).guard;
    });
  }

  [[nodiscard]] Parts grown(const Region& region, std::size_t seed, const Part& first) const {
    Parts nest{{seed, first}};
    for (std::size_t before = 0; before != nest.size();) {
      before = nest.size();
      add_results(region, nest, first);
    }
    add_producers(region, nest, first);
    return nest;
  }
  void add_results(const Region& region, Parts& nest, const Part& first) const {
    const auto rows = rows_of(first.members.back());
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (nest.contains(k)) continue;
      for (const Part& part : closing_[k]) {
        if (rows_of(part.members.back()) != rows || !of_types(nest, part) || !shares(nest, part)) continue;
        Parts larger = nest;
        larger.emplace(k, part);
        if (!order(region, larger)) continue;
        nest = std::move(larger);
        break;
      }
    }
  }
  void add_producers(const Region& region, Parts& nest, const Part& first) const {
    for (std::size_t k = nest.rbegin()->first; k-- > 0;) {
      if (nest.contains(k)) continue;
      for (const Part& part : aligned_[k]) {
        if (rows_of(part.members.back()) != rows_of(first.members.back()) || !read_by_rows(region, nest, part))
          continue;
        Parts larger = nest;
        larger.emplace(k, part);
        if (!order(region, larger)) continue;
        nest = std::move(larger);
        break;
      }
    }
  }

  /// True if the results can be packed: one type, or f64 and counts.
  [[nodiscard]] bool of_types(const Parts& nest, const Part& part) const {
    std::set<Scalar> types{type_of(part)};
    bool counts = type_of(part) != Scalar::kI64 || counted(part);
    for (const auto& [k, p] : nest) {
      types.insert(type_of(p));
      counts = counts && (type_of(p) != Scalar::kI64 || counted(p));
    }
    return types.size() == 1 || (types == std::set{Scalar::kI64, Scalar::kF64} && counts);
  }
  [[nodiscard]] Scalar type_of(const Part& p) const { return program_.type(p.value).scalar; }
  static bool counted(const Part& p) {
    const Compute& c = compute_in(p.members.back());
    return p.members.size() == 1 && (counting(c) || (c.guard && std::holds_alternative<Constant>(c.bodies[0]->op)));
  }

  /// The tensors read by rows, and those of highest rank among them.
  struct Streams {
    std::set<ValueId> all, largest;
    std::size_t rank = 0;
  };
  [[nodiscard]] Streams streams_of(const Part& part) const {
    Streams result;
    std::set<ValueId> inside;
    for (const Member& m : part.members) {
      for_each_read(compute_in(m), [&](const Read& r) {
        if (is_by_rows(r, m.shared) && !inside.contains(r.tensor)) result.all.insert(r.tensor);
      });
      inside.insert(m.node.results[0]);
    }
    for (const ValueId v : result.all) result.rank = std::max(result.rank, program_.type(v).rank());
    for (const ValueId v : result.all) {
      if (program_.type(v).rank() == result.rank) result.largest.insert(v);
    }
    return result;
  }
  /// True if a scan is saved: the operator shares with one of the nest a tensor that is the largest of either.
  [[nodiscard]] bool shares(const Parts& nest, const Part& part) const {
    const auto meet = [](const std::set<ValueId>& a, const std::set<ValueId>& b) {
      return std::ranges::any_of(a, [&](ValueId v) { return b.contains(v); });
    };
    const Streams mine = streams_of(part);
    return std::ranges::any_of(nest, [&](const auto& p) {
      const Streams other = streams_of(p.second);
      return meet(mine.largest, other.all) || meet(mine.all, other.largest);
    });
  }

  /// True if only members of the nest read the value, each at its row.
  [[nodiscard]] bool read_by_rows(const Region& region, const Parts& nest, const Part& part) const {
    if (std::ranges::count(region.yields, part.value) > 0) return false;
    for (std::size_t k = 0; k < region.nodes.size(); ++k) {
      if (mentioned_[k].contains(part.value) && !nest.contains(k) &&
          std::ranges::count(region.nodes[k].results, part.value) == 0)
        return false;
    }
    int readers = 0;
    bool by_rows = true;
    for (const auto& [k, p] : nest) {
      for (const Member& m : p.members) {
        for_each_read(compute_in(m), [&](const Read& r) {
          if (r.tensor != part.value) return;
          ++readers;
          by_rows = by_rows && is_by_rows(r, m.shared);
        });
      }
    }
    return readers > 0 && by_rows;
  }

  [[nodiscard]] std::optional<std::set<std::size_t>> order(const Region& region, const Parts& nest) const {
    std::map<std::size_t, std::optional<ValueId>> results;
    for (const auto& [k, part] : nest) results[k] = closes(part) ? std::optional(part.value) : std::nullopt;
    return nodes_behind(program_, region, mentioned_, results);
  }

  // --- The nest

  void build(Region& region, const Parts& nest) {
    const std::set<std::size_t> after = *order(region, nest);
    const bool chosen =
        context_.options().fusion == FusionPolicy::kCost &&
        std::ranges::any_of(nest, [](const auto& p) { return p.second.chosen || large_product(p.second); });
    std::vector<ValueId> results;
    for (const auto& [k, part] : nest) {
      if (closes(part)) results.push_back(part.value);
      context_.applied(region.nodes[k].range, closes(part) && nest.size() > 1
                                                  ? "computed with other results in one scan of the operands' rows"
                                              : closes(part) ? "every row is combined into the element of its group"
                                                             : "computed by rows, in the loops of its consumer");
    }
    const SourceRange range = region.nodes[nest.begin()->first].range;
    std::vector<Node> made;
    if (chosen) {
      context_.applied(range,
                       "in two forms: by rows, or one operator after the other; sizes decide when the program starts");
      Choose choose{{}, {"by rows", "one operator after the other"}};
      Region separate = copy_of(region, nest, results);
      std::vector<ValueId> inner;
      for (const ValueId v : results) inner.push_back(again(v, program_.type(v).scalar));
      choose.regions.push_back({{}, {fused(nest, inner)}, inner});
      choose.regions.push_back(std::move(separate));
      made.push_back(Node{range, results, std::move(choose)});
    } else {
      made.push_back(fused(nest, results));
    }
    put_nest(region, nest, after, std::move(made));
  }
  static bool large_product(const Part& p) {
    return std::ranges::any_of(p.members, [](const Member& m) {
      return !streams_rows(compute_in(m), m.shared) && !is_small_product(compute_in(m), m.shared);
    });
  }

  ValueId again(ValueId v, Scalar scalar) {
    const ValueInfo info = program_.info(v);
    Type type = info.type;
    type.scalar = scalar;
    return program_.new_value(std::move(type), info.name, info.range);
  }

  /// The nest. `results`: one per closing part.
  Node fused(const Parts& nest, const std::vector<ValueId>& results) {
    const bool floats =
        std::ranges::any_of(results, [&](ValueId v) { return program_.type(v).scalar == Scalar::kF64; });
    Node node;
    Fused op;
    Renaming names;
    for (const auto& [k, part] : nest) {
      for (const Member& m : part.members) {
        Node member = m.node;
        rename(program_, member, names);
        op.body.nodes.push_back(std::move(member));
        op.labels.push_back(m.shared);
      }
      Node& last = op.body.nodes.back();
      if (!closes(part)) {
        if (last.results[0] != part.value) names.emplace(part.value, last.results[0]);
        continue;
      }
      const ValueId result = results[node.results.size()];
      const bool counts = floats && program_.type(result).scalar == Scalar::kI64;
      if (counts) last.op = in_f64(std::get<Compute>(last.op));
      last.results = {again(part.value, counts ? Scalar::kF64 : program_.type(result).scalar)};
      op.body.yields.push_back(last.results[0]);
      node.results.push_back(result);
    }
    const Part& first = std::ranges::find_if(nest, [](const auto& p) { return closes(p.second); })->second;
    for (const std::int32_t l : first.members.back().shared)
      op.shared.push_back(label_of(compute_in(first.members.back()), l));
    node.range = first.members.back().node.range;
    node.op = std::move(op);
    return node;
  }

  /// The operators one after the other, with new names.
  Region copy_of(const Region& region, const Parts& nest, const std::vector<ValueId>& results) {
    Region copy;
    Renaming names;
    const auto add = [&](const Node& n) {
      copy.nodes.push_back(cloned(program_, n, names));
      rename(program_, copy.nodes.back(), names);
    };
    for (const auto& [k, part] : nest) {
      const auto* choose = std::get_if<Choose>(&region.nodes[k].op);
      if (choose == nullptr) {
        add(region.nodes[k]);
        continue;
      }
      for (const Node& n : choose->regions[1].nodes) add(n);
      names[part.value] = names.at(choose->regions[1].yields[0]);
    }
    for (const ValueId v : results) copy.yields.push_back(names.at(v));
    return copy;
  }

  // by position of the node in the region
  std::vector<std::set<ValueId>> mentioned_;
  std::vector<std::vector<Part>> closing_, aligned_;
};

}  // namespace

Program merge_rows(const Program& program, PassContext& context) { return RowMerging(program, context).run(); }

}  // namespace tdsl::passes
