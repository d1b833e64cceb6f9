// Reductions over the points whose value lies in one of many intervals become sums by groups: the interval of each
// point is searched, instead of comparing every point with every interval.
//
//     %5 = compute [b in 0..%1] sum[k in 0..%0] (%3[k]) where and(le(%4[b], %2[k]), lt(%2[k], %4[add(b, 1)]))
// becomes
//     %6 = compute [] (and(ge(%0, 4096), ge(%1, 16)))
//     %5 = if %6 {
//       %7 = compute [b in 0..%1] (%4[b])
//       %8 = compute [b in 0..%1] (%4[add(b, 1)])
//       %9 = compute [] all[b in 0..%1] (…)           intervals do not overlap and ascend, and no bound is nan
//       %10 = if %9 {
//         %11 = compute by search [k in 0..%0] sum[b in 0..%1] (i64(le(%7[b], %2[k])))        intervals that begin
//         %12 = compute by search [k in 0..%0] sum[b in 0..%1] (i64(le(%8[b], %2[k])))        intervals that end
//         %13 = compute [k in 0..%0] (select(eq(%11[k], add(%12[k], 1)), sub(%11[k], 1), -1))
//         %14 = compute [b in 0..%1] sum[k in 0..%0] (%3[k]) where eq(b, %13[k])
//         yield %14
//       } else { … }                                  as before
//       yield %10
//     } else { … }
//
// The bounds are computed once and compared as the guard compares them, so that a point is in a bin exactly if the
// guard holds, whatever the spelling of the bounds. A point that is in no bin, such as nan, belongs to group -1.
// Reductions with the same bins are computed together. Only changes the rounding of float sums.

#include "passes/passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/clone.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"
#include "passes/fusion/row_nests.h"
#include "passes/region_rewriter.h"

namespace tdsl::passes {

using namespace ir;
using namespace fusion_plans;

namespace {

/// Numbers of intervals and of points below which comparing every point with every interval is faster.
constexpr std::int64_t kFewBins = 16, kFewValues = 4096;

/// Intervals `[low, high)` and the values that lie in them.
struct Bins {
  Expr low, high;  ///< over label 0, the number of the interval
  bool low_open = false, high_open = true;
  Expr value, where;  ///< of a point, over `points`; points for which `where` does not hold are in no interval
  std::vector<Label> points;
  Extent size;  ///< number of intervals

  friend bool operator==(const Bins& a, const Bins& b) {
    const auto same = [](const Expr& x, const Expr& y) { return x && y ? equal(x, y) : !x && !y; };
    return same(a.low, b.low) && same(a.high, b.high) && a.low_open == b.low_open && a.high_open == b.high_open &&
           same(a.value, b.value) && same(a.where, b.where) && a.size == b.size &&
           std::ranges::equal(a.points, b.points,
                              [](const Label& x, const Label& y) { return x.begin == y.begin && x.end == y.end; });
  }
};

/// A reduction with such a guard.
struct Binned {
  Bins bins;
  std::int32_t label = 0;               ///< the out label that numbers intervals
  std::vector<std::int32_t> of_points;  ///< the reduce labels that are `points`
};

/// `small < large`, or `small <= large`.
struct Ordered {
  Expr small, large;
  bool strict = false;
};
std::optional<Ordered> ordered(const Expr& e) {
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return std::nullopt;
  if (b->op == BinaryOp::kLt || b->op == BinaryOp::kLe) return Ordered{b->left, b->right, b->op == BinaryOp::kLt};
  if (b->op == BinaryOp::kGt || b->op == BinaryOp::kGe) return Ordered{b->right, b->left, b->op == BinaryOp::kGt};
  return std::nullopt;
}

/// Finds the bins in a guard: a lower and an upper bound of one value, and conditions of points.
class BinFinder {
 public:
  explicit BinFinder(const Compute& c) : c_(c), first_reduce_(static_cast<std::int32_t>(c.out.size())) {}

  std::optional<Binned> run() {
    for (const Expr& part : conjuncts(c_.guard)) {
      if (!bound(part)) where_ = conjunction_of(where_, part);
    }
    if (!low_ || !high_ || !equal(low_->large, high_->small) || (where_ && !is_of_points(where_))) return std::nullopt;
    Binned found;
    found.label = label_;
    std::set<std::int32_t> used = labels_in(low_->large);
    if (where_) used.merge(labels_in(where_));
    found.of_points.assign(used.begin(), used.end());
    std::vector<Expr> points(c_.out.size() + c_.reduce.size()), number(points.size());
    number[static_cast<std::size_t>(label_)] = index_ref(0);
    for (std::size_t k = 0; k < found.of_points.size(); ++k) {
      points[static_cast<std::size_t>(found.of_points[k])] = index_ref(static_cast<std::int32_t>(k));
      found.bins.points.push_back(label_of(c_, found.of_points[k]));
    }
    Bins& bins = found.bins;
    bins.low = substitute_labels(low_->small, number);
    bins.high = substitute_labels(high_->large, number);
    bins.low_open = low_->strict;
    bins.high_open = high_->strict;
    bins.value = substitute_labels(low_->large, points);
    if (where_) bins.where = substitute_labels(where_, points);
    return found;
  }

 private:
  [[nodiscard]] bool is_of_points(const Expr& e) const {
    const std::set<std::int32_t> labels = labels_in(e);
    return !labels.empty() && *labels.begin() >= first_reduce_;
  }
  /// The one label of a bound: an out label.
  [[nodiscard]] std::optional<std::int32_t> number_in(const Expr& e) const {
    const std::set<std::int32_t> labels = labels_in(e);
    const bool one = labels.size() == 1 && *labels.begin() < first_reduce_;
    return one ? std::optional(*labels.begin()) : std::nullopt;
  }
  bool bound(const Expr& part) {
    std::optional<Ordered> o = ordered(part);
    if (!o) return false;
    const bool below = is_of_points(o->large);
    const auto number = number_in(below ? o->small : o->large);
    std::optional<Ordered>& side = below ? low_ : high_;
    if (!number || side || !is_of_points(below ? o->large : o->small) || (label_ >= 0 && label_ != *number))
      return false;
    label_ = *number;
    side = std::move(o);
    return true;
  }

  const Compute& c_;
  std::int32_t first_reduce_;
  std::int32_t label_ = -1;
  std::optional<Ordered> low_, high_;
  Expr where_;
};

class Binning : public RegionRewriter {
 public:
  using RegionRewriter::RegionRewriter;

 private:
  /// The reductions with the same bins, by position in the region.
  using Nest = std::map<std::size_t, Binned>;

  [[nodiscard]] bool enters(const Node& node) const override {
    return holds_operations(node) && !std::holds_alternative<Choose>(node.op);
  }

  void rewrite_region(Region& region) override {
    rewrite_inside(region);
    for (std::size_t k = 0; k < region.nodes.size();) {
      const std::optional<Binned> first = binned(region.nodes[k]);
      if (first) {
        build(region, with_same_bins(region, k, *first));
      } else {
        ++k;
      }
    }
  }

  [[nodiscard]] std::optional<Binned> binned(const Node& node) {
    const auto* c = std::get_if<Compute>(&node.op);
    if (c == nullptr || !c->guard || !c->monoid || !combines_freely(*c->monoid)) return std::nullopt;
    Compute everywhere = *c;
    everywhere.guard = Expr();
    if (can_fail(program_, *c) || can_fail(program_, everywhere) || applies(c->guard)) return std::nullopt;
    std::optional<Binned> found = BinFinder(*c).run();
    const auto from_zero = [&](std::int32_t l) { return label_of(*c, l).begin == Extent(0); };
    if (!found || !from_zero(found->label) || !std::ranges::all_of(found->of_points, from_zero)) return std::nullopt;
    const Scalar type = found->bins.value->type;
    if (!(is_float(type) || is_integer(type)) || found->bins.low->type != type || found->bins.high->type != type)
      return std::nullopt;
    found->bins.size = program_.type(node.results[0]).shape[static_cast<std::size_t>(found->label)];
    if (found->bins.size.constant().value_or(kFewBins) < kFewBins || !is_group(node, *c, *found)) return std::nullopt;
    return found;
  }
  /// True if `merge_rows` can compute the sum by groups in one scan of the points.
  [[nodiscard]] bool is_group(const Node& node, const Compute& c, const Binned& b) {
    const Node group{node.range, node.results, by_groups(c, b, points_value(b.bins, Scalar::kI64, node.range))};
    const Compute* fits = nest_operator(program_, group, true);
    return fits != nullptr && std::ranges::any_of(row_candidates(*fits), [&](const SharedLabels& shared) {
             return aligned_labels(*fits, shared) == 0 && fits_rows(program_, *fits, shared, true);
           });
  }

  [[nodiscard]] Nest with_same_bins(const Region& region, std::size_t first, const Binned& bins) {
    Nest nest{{first, bins}};
    std::vector<std::set<ValueId>> mentions;
    for (const Node& node : region.nodes) mentions.push_back(mentioned(program_, node));
    for (std::size_t k = first + 1; k < region.nodes.size(); ++k) {
      std::optional<Binned> other = binned(region.nodes[k]);
      if (!other || !(other->bins == bins.bins)) continue;
      Nest larger = nest;
      larger.emplace(k, *std::move(other));
      if (behind(region, mentions, larger)) nest = std::move(larger);
    }
    return nest;
  }
  [[nodiscard]] std::optional<std::set<std::size_t>> behind(const Region& region,
                                                            const std::vector<std::set<ValueId>>& mentions,
                                                            const Nest& nest) const {
    std::map<std::size_t, std::optional<ValueId>> results;
    for (const auto& [k, b] : nest) results[k] = region.nodes[k].results[0];
    return nodes_behind(program_, region, mentions, results);
  }

  void build(Region& region, const Nest& nest) {
    std::vector<std::set<ValueId>> mentions;
    for (const Node& node : region.nodes) mentions.push_back(mentioned(program_, node));
    const std::set<std::size_t> after = behind(region, mentions, nest).value_or(std::set<std::size_t>());
    const Bins& bins = nest.begin()->second.bins;
    const SourceRange range = region.nodes[nest.begin()->first].range;
    std::vector<Node> made;
    const ValueId many = are_many(bins, range, made);
    Node choice{range, {}, If{many, in_bins(region, nest, range), one_by_one(region, nest)}};
    for (const auto& [k, b] : nest) {
      choice.results.push_back(region.nodes[k].results[0]);
      context_.applied(region.nodes[k].range,
                       "the bin of each point is searched, if there are many and their bounds ascend");
    }
    made.push_back(std::move(choice));
    put_nest(region, nest, after, std::move(made));
  }

  /// Whether there are enough points and bins; known without data.
  ValueId are_many(const Bins& bins, const SourceRange& range, std::vector<Node>& made) {
    Extent points(1);
    for (const Label& l : bins.points) points = points * l.end;
    const auto at_least = [](const Extent& e, std::int64_t least) {
      return binary(BinaryOp::kGe, expr_of(e), constant_i64(least));
    };
    Compute many;
    many.bodies = {binary(BinaryOp::kAnd, at_least(points, kFewValues), at_least(bins.size, kFewBins))};
    return computed(std::move(many), {Scalar::kBool, {}, {}}, range, made);
  }
  /// By search if bounds ascend, else one by one.
  Region in_bins(const Region& region, const Nest& nest, const SourceRange& range) {
    const Bins& bins = nest.begin()->second.bins;
    Region result;
    const ValueId low = bound(bins, bins.low, range, result.nodes), high = bound(bins, bins.high, range, result.nodes);
    Node choice{range, {}, If{checked(bins, low, high, range, result.nodes), {}, one_by_one(region, nest)}};
    Region& searches = std::get<If>(choice.op).then_region;
    const ValueId bin = searched(bins, low, high, range, searches.nodes);
    for (const auto& [k, b] : nest) {
      const Node& node = region.nodes[k];
      Node group{node.range, {again(node.results[0])}, by_groups(std::get<Compute>(node.op), b, bin)};
      searches.yields.push_back(group.results[0]);
      searches.nodes.push_back(std::move(group));
      choice.results.push_back(again(node.results[0]));
    }
    result.yields = choice.results;
    result.nodes.push_back(std::move(choice));
    return result;
  }
  /// Copies of the reductions as they are.
  Region one_by_one(const Region& region, const Nest& nest) {
    Region result;
    for (const auto& [k, b] : nest) {
      Renaming names;
      result.nodes.push_back(cloned(program_, region.nodes[k], names));
      result.yields.push_back(names.at(region.nodes[k].results[0]));
    }
    return result;
  }

  /// The bounds of all intervals.
  ValueId bound(const Bins& bins, const Expr& e, const SourceRange& range, std::vector<Node>& made) {
    Compute map;
    map.out = {number_of(bins)};
    map.bodies = {e};
    return computed(std::move(map), {e->type, {bins.size}, {}}, range, made);
  }
  static Label number_of(const Bins& bins) { return {"b", Extent(0), bins.size}; }

  /// Whether no bound is nan, bounds ascend, and an interval begins behind the end of the one before.
  ValueId checked(const Bins& bins, ValueId low, ValueId high, const SourceRange& range, std::vector<Node>& made) {
    const Scalar type = bins.value->type;
    const Expr b = index_ref(0), before = binary(BinaryOp::kSub, b, constant_i64(1));
    const auto at = [&](ValueId v, const Expr& subscript) { return read(type, v, {subscript}); };
    const auto compared = [&](BinaryOp op, const Expr& x, const Expr& y) { return binary(op, x, y); };
    const bool apart = !bins.low_open && !bins.high_open;
    const Expr ascends = conjunction_of(conjunction_of(compared(BinaryOp::kLe, at(low, before), at(low, b)),
                                                       compared(BinaryOp::kLe, at(high, before), at(high, b))),
                                        compared(apart ? BinaryOp::kLt : BinaryOp::kLe, at(high, before), at(low, b)));
    Expr good = binary(BinaryOp::kOr, binary(BinaryOp::kLt, b, constant_i64(1)), ascends);
    if (is_float(type)) {
      for (const ValueId v : {high, low})
        good = conjunction_of(unary(UnaryOp::kNot, unary(UnaryOp::kIsNan, at(v, b))), good);
    }
    Compute all;
    all.reduce = {number_of(bins)};
    all.monoid = Monoid{Monoid::Kind::kAll, {}, {}, {}};
    all.bodies = {good};
    return computed(std::move(all), {Scalar::kBool, {}, {}}, range, made);
  }

  /// The interval of each point, or -1.
  ValueId searched(const Bins& bins, ValueId low, ValueId high, const SourceRange& range, std::vector<Node>& made) {
    const auto points = static_cast<std::int32_t>(bins.points.size());
    const auto count = [&](ValueId bounds, bool strict) {
      Compute c;
      c.out = bins.points;
      c.reduce = renamed_apart({number_of(bins)}, bins.points);
      c.monoid = Monoid{Monoid::Kind::kSum, {}, {}, {}};
      const Expr element = read(bins.value->type, bounds, {index_ref(points)});
      c.bodies = {cast(Scalar::kI64, binary(strict ? BinaryOp::kLt : BinaryOp::kLe, element, bins.value), range)};
      c.by_search = true;
      const ValueId v = points_value(bins, Scalar::kI64, range);
      made.push_back({range, {v}, std::move(c)});
      return read(Scalar::kI64, v, plain_subscripts(bins.points.size()));
    };
    const Expr begun = count(low, bins.low_open), ended = count(high, !bins.high_open);
    const Expr inside =
        conjunction_of(binary(BinaryOp::kEq, begun, binary(BinaryOp::kAdd, ended, constant_i64(1))), bins.where);
    Compute map;
    map.out = bins.points;
    map.bodies = {select(inside, binary(BinaryOp::kSub, begun, constant_i64(1)), constant_i64(-1))};
    const ValueId bin = points_value(bins, Scalar::kI64, range);
    made.push_back({range, {bin}, std::move(map)});
    return bin;
  }

  /// A new value with an element per point.
  ValueId points_value(const Bins& bins, Scalar type, const SourceRange& range) {
    std::vector<Extent> shape;
    for (const Label& l : bins.points) shape.push_back(l.end);
    return program_.new_value({type, std::move(shape), {}}, "", range);
  }

  static Compute by_groups(Compute c, const Binned& b, ValueId bin) {
    std::vector<Expr> point;
    for (const std::int32_t l : b.of_points) point.push_back(index_ref(l));
    c.guard = binary(BinaryOp::kEq, index_ref(b.label), read(Scalar::kI64, bin, std::move(point)));
    return c;
  }

  ValueId again(ValueId v) {
    const ValueInfo info = program_.info(v);
    return program_.new_value(info.type, info.name, info.range);
  }
  ValueId computed(Compute c, Type type, const SourceRange& range, std::vector<Node>& made) {
    const ValueId v = program_.new_value(std::move(type), "", range);
    made.push_back({range, {v}, std::move(c)});
    return v;
  }
};

}  // namespace

Program bins(const Program& program, PassContext& context) { return Binning(program, context).run(); }

}  // namespace tdsl::passes
