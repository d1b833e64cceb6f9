// Reduces over stored elements only if the body is the same at all other points:
//
//     %2:f64 = compute [] max[i in 0..%0, j in 0..%0] (%1[i, j])
// becomes
//     %3:i64 = compute [] sum[i in 0..%0, j in 0..%0] (1) where ne(%1[i, j], 0.0)
//     %4:f64 = compute [] max[i in 0..%0, j in 0..%0] (%1[i, j]) where ne(%1[i, j], 0.0)
//     %2:f64 = compute [] (select(lt(f64(%3[]), mul(f64(%0), f64(%0))), max(%4[], 0.0), %4[]))
//
// The *background* is the body with all sparse operands 0, here 0.0; it may depend on labels that are not reduced. It
// counts once in `min`, `max`, `any` and `all`, and in a sum as often as there are other points, which rounds less than
// adding it repeatedly; a background equal to the reduction's identity does not count. Only applied if the pass
// `storage` then compresses all operands that the guard reads: on dense operands the split costs more.
//
// Precondition and postcondition: verified; no value is compressed yet.

#include "passes/passes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis/combined.h"
#include "ir/analysis/iteration_rules.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/region_rewriter.h"
#include "passes/rewriting.h"
#include "passes/sparse/iteration.h"
#include "passes/sparse/storage_choice.h"

namespace tdsl::passes {

using namespace ir;

namespace {

using Kind = Monoid::Kind;

/// The split of a reduction into stored elements and background.
struct Split {
  std::vector<std::int32_t> labels;  ///< the subscripts of the operands
  std::vector<ValueId> operands;
  Expr present;  ///< true where one of them is not 0
  Expr value;    ///< of the body elsewhere, without reduce labels; null: the identity
};

/// Folds after constants have replaced reads, with 0 as the result of products in which an absent element wins.
Expr folded(const Expr& e) {
  if (const auto* u = std::get_if<Unary>(&e->op)) return unary(u->op, u->operand, e->range);
  if (const auto* c = std::get_if<Cast>(&e->op)) return cast(e->type, c->operand, e->range);
  if (const auto* s = std::get_if<Select>(&e->op)) return select(s->condition, s->when_true, s->when_false, e->range);
  const auto* b = std::get_if<Binary>(&e->op);
  if (b == nullptr) return e;
  if (!is_float(e->type)) return binary(b->op, b->left, b->right, e->range);
  const bool left = is_zero(b->left) &&
                    (b->op == BinaryOp::kAbsentMul || b->op == BinaryOp::kMutualMul || b->op == BinaryOp::kAbsentDiv);
  const bool right = is_zero(b->right) && b->op == BinaryOp::kMutualMul;
  return left || right ? zero_of(e->type) : binary(b->op, b->left, b->right, e->range);
}

/// The labels if the read's subscripts are distinct labels, else empty.
std::vector<std::int32_t> labels_of(const Read& r) {
  std::vector<std::int32_t> labels;
  for (const Expr& s : r.subscripts) {
    const std::int32_t label = bare_label(s);
    if (label < 0 || std::ranges::find(labels, label) != labels.end()) return {};
    labels.push_back(label);
  }
  return labels;
}

bool may_count(Kind kind, Scalar type) {
  switch (kind) {
    case Kind::kMin:
    case Kind::kMax:
    case Kind::kAny:
    case Kind::kAll: return true;
    // The number of points fits into the other types.
    case Kind::kSum: return size_of(type) == 8 || is_float(type);
    default: return false;
  }
}

class Splitter {
 public:
  explicit Splitter(const Program& program) : program_(program) {}

  [[nodiscard]] std::optional<Split> of(const Compute& c) const {
    if (!c.monoid || c.bodies.size() != 1 || c.guard || !c.left.empty() || c.base || c.combine || c.fill ||
        c.in_any_order || can_fail(program_, c))
      return std::nullopt;
    std::set<std::vector<std::int32_t>> tried;
    std::optional<Split> found;
    for_each_read(c.bodies[0], [&](const Read& r) {
      if (found || !program_.type(r.tensor).has_sparse()) return;
      if (const auto labels = labels_of(r); !labels.empty() && tried.insert(labels).second) found = over(c, labels);
    });
    return found;
  }

 private:
  [[nodiscard]] std::optional<Split> over(const Compute& c, const std::vector<std::int32_t>& labels) const {
    const auto all = static_cast<std::int32_t>(c.out.size() + c.reduce.size());
    for (auto l = static_cast<std::int32_t>(c.out.size()); l < all; ++l) {
      if (std::ranges::find(labels, l) == labels.end()) return std::nullopt;
    }
    Split split{labels, {}, {}, {}};
    const Expr value = rewrite(c.bodies[0], [&](const Expr& e) {
      const auto* r = std::get_if<Read>(&e->op);
      if (r == nullptr || !program_.type(r->tensor).has_sparse() || labels_of(*r) != labels) return folded(e);
      if (std::ranges::find(split.operands, r->tensor) == split.operands.end()) {
        split.operands.push_back(r->tensor);
        split.present = split.present ? binary(BinaryOp::kOr, split.present, is_present(e)) : is_present(e);
      }
      return zero_of(e->type);
    });
    std::vector<StoredOperand> stored;
    for (const ValueId v : split.operands) stored.push_back({v, labels});
    if (mentions_labels(value, c.out.size()) || IterationRules(program_, c).are_needed(stored)) return std::nullopt;
    const Kind kind = c.monoid->kind;
    if (!combines_freely(*c.monoid)) return std::nullopt;
    if (equal(value, identity_of(*c.monoid, value->type))) return split;
    if (!may_count(kind, value->type)) return std::nullopt;
    split.value = value;
    return split;
  }

  const Program& program_;
};

/// Rewrites the program with the given splits.
class Writer : public RegionRewriter {
 public:
  Writer(Program program, PassContext& context, const std::map<ValueId, Split>& splits)
      : RegionRewriter(std::move(program), context), splits_(splits) {}

  /// The nodes over stored elements, by the original result.
  [[nodiscard]] const std::map<ValueId, std::vector<ValueId>>& walks() const { return walks_; }

 private:
  /// Shared by reductions over the same points of the same operands.
  struct Count {
    Expr present;
    std::vector<Label> labels;
    std::size_t out = 0;
    ValueId value;
  };

  void rewrite_region(Region& region) override {
    std::vector<Count> outer = std::exchange(counts_, {});
    RegionRewriter::rewrite_region(region);
    counts_ = std::move(outer);
  }

  void rewrite_node(Node n, std::vector<Node>& into) override {
    const auto split = n.results.empty() ? splits_.end() : splits_.find(n.results[0]);
    if (split == splits_.end())
      keep(std::move(n), into);
    else
      write(std::move(n), split->second, into);
  }

  void write(Node n, const Split& split, std::vector<Node>& into) {
    auto& c = std::get<Compute>(n.op);
    const ValueId result = n.results[0];
    std::vector<ValueId>& walks = walks_[result];
    if (!split.value) {
      c.guard = split.present;
      walks.push_back(result);
      into.push_back(std::move(n));
      return;
    }
    const ValueId count = counted(n, split, into);
    const Type type = program_.type(result);
    const ValueId stored = program_.new_value({type.scalar, type.shape, {}}, "", n.range);
    walks = {count, stored};
    Compute rest;
    rest.out = c.out;
    rest.bodies = {together(c, split, count, stored)};
    c.guard = split.present;
    const SourceRange range = n.range;
    n.results = {stored};
    into.push_back(std::move(n));
    into.push_back({range, {result}, std::move(rest)});
  }

  /// The number of present points per element of the result.
  ValueId counted(const Node& n, const Split& split, std::vector<Node>& into) {
    const auto& c = std::get<Compute>(n.op);
    Compute of;
    std::vector<Expr> renamed(c.out.size() + c.reduce.size());
    Type type{Scalar::kI64, {}, {}};
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      if (std::ranges::find(split.labels, static_cast<std::int32_t>(l)) == split.labels.end()) continue;
      renamed[l] = index_ref(static_cast<std::int32_t>(of.out.size()));
      of.out.push_back(c.out[l]);
      type.shape.push_back(c.out[l].end - c.out[l].begin);
    }
    for (std::size_t r = 0; r < c.reduce.size(); ++r)
      renamed[c.out.size() + r] = index_ref(static_cast<std::int32_t>(of.out.size() + r));
    of.reduce = c.reduce;
    of.monoid = Monoid{};
    of.bodies = {constant_i64(1)};
    of.guard = substitute_labels(split.present, renamed);
    std::vector<Label> labels = all_labels(of);
    const auto same = [](const Label& a, const Label& b) { return a.begin == b.begin && a.end == b.end; };
    const auto known = std::ranges::find_if(counts_, [&](const Count& k) {
      return k.out == of.out.size() && equal(k.present, of.guard) && std::ranges::equal(k.labels, labels, same);
    });
    if (known != counts_.end()) return known->value;
    const ValueId value = program_.new_value(type, "", n.range);
    counts_.push_back({of.guard, std::move(labels), of.out.size(), value});
    into.push_back({n.range, {value}, std::move(of)});
    return value;
  }

  [[nodiscard]] Expr together(const Compute& c, const Split& split, ValueId count, ValueId stored) const {
    std::vector<Expr> at;
    std::vector<Expr> counted_at;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      const Expr index = index_difference(index_ref(static_cast<std::int32_t>(l)), expr_of(c.out[l].begin));
      at.push_back(index);
      if (std::ranges::find(split.labels, static_cast<std::int32_t>(l)) != split.labels.end())
        counted_at.push_back(index);
    }
    // In f64, since the number of all points may overflow i64. The number of stored elements is exact, so the
    // comparison is too.
    Extent points(1);
    Expr all;
    for (const Label& l : c.reduce) {
      const Extent extent = l.end - l.begin;
      points = points * extent;
      const Expr number = cast(Scalar::kF64, expr_of(extent));
      all = all ? binary(BinaryOp::kMul, all, number) : number;
    }
    const Scalar type = c.bodies[0]->type;
    const Expr of_stored = read(type, stored, at);
    const Expr present = read(Scalar::kI64, count, counted_at);
    const Expr as_float = cast(Scalar::kF64, present);
    Expr other = split.value;
    if (c.monoid->kind == Kind::kSum) {
      const Expr others = is_float(type) ? cast(type, binary(BinaryOp::kSub, all, as_float))
                                         : index_difference(expr_of(points), present);
      other = binary(BinaryOp::kMul, other, others);
    }
    // Without absent points, 0 times an infinite background would be nan.
    return select(binary(BinaryOp::kLt, as_float, all), combined(*c.monoid, of_stored, other), of_stored);
  }

  const std::map<ValueId, Split>& splits_;
  std::vector<Count> counts_;  ///< of the region
  std::map<ValueId, std::vector<ValueId>> walks_;
};

class Backgrounds {
 public:
  Backgrounds(const Program& program, PassContext& context) : program_(program), context_(context) {}

  Program run() {
    collect(program_.body);
    while (!splits_.empty()) {
      Writer writer(program_, context_, splits_);
      Program written = writer.run();
      if (!drop(written, writer.walks())) return finished(std::move(written));
    }
    return program_;
  }

 private:
  void collect(const Region& region) {
    const Splitter splitter(program_);
    for (const Node& n : region.nodes) {
      if (const auto* c = std::get_if<Compute>(&n.op)) {
        if (auto split = splitter.of(*c)) splits_.emplace(n.results[0], std::move(*split));
      }
      if (!holds_operations(n)) continue;
      for (const Region* inner : regions_in(n)) collect(*inner);
    }
  }

  /// Drops splits whose nodes would not iterate over stored elements; true if there were any.
  bool drop(const Program& written, const std::map<ValueId, std::vector<ValueId>>& walks) {
    const Program program = choose_storage(written, Candidates::kAll).program;
    const std::vector<const Node*> nodes = definitions(program);
    const auto goes = [&](ValueId v, const Split& split) {
      const Compute* c = compute_of(nodes, v);
      const auto iteration = c == nullptr ? std::nullopt : sparse_iteration(program, *c, false);
      return iteration && std::ranges::all_of(split.operands, [&](ValueId operand) {
               return program.type(operand).is_compressed() && visits(*c, *iteration, operand);
             });
    };
    return std::erase_if(splits_, [&](const auto& entry) {
             return !std::ranges::all_of(walks.at(entry.first), [&](ValueId v) { return goes(v, entry.second); });
           }) > 0;
  }

  Program finished(Program written) {
    for_each_node(program_.body, [&](const Node& n) {
      const auto split = n.results.empty() ? splits_.end() : splits_.find(n.results[0]);
      if (split != splits_.end())
        context_.applied(n.range, split->second.value ? "over stored elements; all other points are combined at once"
                                                      : "over stored elements: other points change nothing");
    });
    return written;
  }

  const Program& program_;
  PassContext& context_;
  std::map<ValueId, Split> splits_;
};

}  // namespace

Program background(const Program& program, PassContext& context) { return Backgrounds(program, context).run(); }

}  // namespace tdsl::passes
