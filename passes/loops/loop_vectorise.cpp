#include "passes/loops/loop_vectorise.h"

#include <algorithm>

#include "ir/analysis/combined.h"
#include "ir/graph/affine.h"
#include "ir/graph/check.h"
#include "ir/graph/clone.h"
#include "ir/graph/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Vectorises one loop. The new label runs over the loop variable itself if the step is 1, else over the iteration
/// numbers.
class Vectoriser {
 public:
  Vectoriser(Program& program, const LoopBody& body, const LoopDependences& dependences, ValueMap& renames,
             Refusal& refusal)
      : program_(program),
        body_(body),
        dependences_(dependences),
        renames_(renames),
        refusal_(refusal),
        inside_(body.defined()) {
    iteration_ = program.new_value({Scalar::kI64, {}, {}}, "", body.range);
    inside_.erase(body.index);
    for (const LoopBody::Carried& k : body.carried) inside_.erase(k.argument);
  }

  std::optional<std::vector<Node>> run() {
    nodes_ = body_.hoisted;
    for (const LoopBody::Carried& k : body_.carried) arguments_.insert({k.argument, k.init});
    for (const Node& statement : body_.statements) {
      if (!vectorise(statement)) return std::nullopt;
    }
    for (std::size_t k = 0; k < body_.carried.size(); ++k) {
      const LoopBody::Carried& c = body_.carried[k];
      const bool changed = dependences_.carried[k].kind == CarriedAccess::Kind::kIndependent ||
                           dependences_.carried[k].kind == CarriedAccess::Kind::kAccumulated;
      renames_.insert({c.result, changed ? c.yield : c.init});
    }
    return std::move(nodes_);
  }

 private:
  bool refuse(const SourceRange& range, std::string reason) {
    refusal_ = {range, std::move(reason)};
    return false;
  }

  [[nodiscard]] bool is_version(ValueId v) const { return dependences_.version_of.contains(v); }

  bool vectorise(const Node& statement) {
    const ValueId v = statement.results[0];
    Node node = statement;
    Compute& c = std::get<Compute>(node.op);
    if (!is_version(v) && !is_used(v)) return true;
    if (!redirect_reads(c) || !make_labels_rectangular(node, c)) return false;
    if (!is_version(v)) return expand_local(node);
    c.base = renamed(arguments_, *c.base);
    if (program_.type(v).rank() == 0) {
      accumulate_scalar(node);
    } else if (written_per_iteration(c) || !c.combine || !can_reduce(c)) {
      store_identity(node, c, program_.type(v));
      prepend_out(c);
      nodes_.push_back(std::move(node));
    } else {
      if (!c.monoid) c.monoid = c.combine;
      prepend_reduce(c);
      nodes_.push_back(std::move(node));
    }
    return true;
  }

  [[nodiscard]] bool is_used(ValueId v) const {
    return std::ranges::any_of(body_.statements,
                               [&](const Node& s) { return std::ranges::count(operands_of(program_, s), v) > 0; });
  }

  [[nodiscard]] bool written_per_iteration(const Compute& c) const {
    return std::ranges::any_of(c.left, [&](const Expr& e) { return reads(e, body_.index) || reads(e, iteration_); });
  }

  /// True if the loop variable may become a reduce label of an update whose store subscripts do not mention it.
  static bool can_reduce(const Compute& c) {
    if (c.monoid && !equal(*c.monoid, *c.combine)) return false;
    if (c.combine->kind != Monoid::Kind::kUser) return true;
    // A user-defined operator may not commute: contributions to one element must keep their order.
    std::set<std::int32_t> labels;
    for (const Expr& e : c.left) {
      if (bare_label(e) >= 0) labels.insert(bare_label(e));
    }
    return labels.size() == c.out.size();
  }

  // Reads of carried values and per-iteration values.

  bool redirect_reads(Compute& c) {
    rewrite_expressions(c, [&](const Expr& e) { return rewrite(e, [&](const Expr& x) { return redirected(x); }); });
    const auto mentions_inside = [&](const Extent& e) {
      return std::ranges::any_of(e.values(), [&](ValueId v) { return inside_.contains(v) || arguments_.contains(v); });
    };
    for (const auto* list : {&c.out, &c.reduce}) {
      for (const Label& l : *list) {
        if (mentions_inside(l.begin) || mentions_inside(l.end)) {
          return refuse(body_.range, "the range of `" + l.name + "` changes from iteration to iteration");
        }
      }
    }
    return true;
  }

  Expr redirected(const Expr& x) const {
    const auto* r = std::get_if<Read>(&x->op);
    if (r == nullptr) return x;
    if (const auto local = expanded_.find(r->tensor); local != expanded_.end()) {
      std::vector<Expr> subscripts{read(Scalar::kI64, iteration_, {})};
      subscripts.insert(subscripts.end(), r->subscripts.begin(), r->subscripts.end());
      return read(x->type, local->second, std::move(subscripts), x->range);
    }
    const auto version = dependences_.version_of.find(r->tensor);
    if (version != dependences_.version_of.end() &&
        reads_initial(body_, dependences_.carried[version->second], r->subscripts)) {
      return read(x->type, body_.carried[version->second].init, r->subscripts, x->range);
    }
    const ValueId to = renamed(arguments_, r->tensor);
    return to == r->tensor ? x : read(x->type, to, r->subscripts, x->range);
  }

  // The new label.

  [[nodiscard]] bool counts_directly() const { return body_.step == 1; }

  [[nodiscard]] Label label(const Compute& c) const {
    std::string name = program_.info(body_.index).name.empty() ? "i" : program_.info(body_.index).name;
    const auto taken = [&](const std::string& candidate) {
      const auto is = [&](const Label& l) { return l.name == candidate; };
      return std::ranges::any_of(c.out, is) || std::ranges::any_of(c.reduce, is);
    };
    const std::string stem = name;
    for (int k = 2; taken(name); ++k) name = stem + "_" + std::to_string(k);
    if (counts_directly()) return {name, body_.begin, body_.end};
    return {name, 0, iteration_count()};
  }

  /// Number of iterations; negative if the range is empty.
  [[nodiscard]] Extent iteration_count() const {
    if (counts_directly()) return body_.end - body_.begin;
    const std::int64_t s = body_.step;
    if (s == -1) return body_.begin - body_.end;
    if (s > 0) return Extent::quotient(body_.end - body_.begin + Extent(s - 1), s);
    return Extent::quotient(body_.begin - body_.end + Extent(-s - 1), -s);
  }

  /// The loop variable as a function of label `number`.
  [[nodiscard]] Expr index_of(std::int32_t number) const {
    const Expr iteration = index_ref(number);
    if (counts_directly()) return iteration;
    const Expr scaled = binary(BinaryOp::kMul, constant_i64(body_.step), iteration);
    return binary(BinaryOp::kAdd, expr_of_polynomial(body_.begin), scaled);
  }

  /// The iteration number, from 0, as a function of label `number`.
  [[nodiscard]] Expr iteration_of(std::int32_t number) const {
    const Expr here = index_ref(number);
    return counts_directly() ? binary(BinaryOp::kSub, here, expr_of_polynomial(body_.begin)) : here;
  }

  void replace_index(Compute& c, std::int32_t number) const {
    const Expr index = index_of(number);
    const Expr iteration = iteration_of(number);
    rewrite_expressions(c, [&](const Expr& e) {
      return rewrite(e, [&](const Expr& x) {
        const auto* r = std::get_if<Read>(&x->op);
        if (r == nullptr) return x;
        if (r->tensor == body_.index) return index;
        return r->tensor == iteration_ ? iteration : x;
      });
    });
  }

  void prepend_out(Compute& c) const {
    const Label l = label(c);
    rewrite_expressions(c, [](const Expr& e) { return shift_labels(e, 0, 1); });
    c.out.insert(c.out.begin(), l);
    replace_index(c, 0);
  }

  void prepend_reduce(Compute& c) const {
    const Label l = label(c);
    const auto position = static_cast<std::int32_t>(c.out.size());
    rewrite_expressions(c, [&](const Expr& e) { return shift_labels(e, position, 1); });
    c.reduce.insert(c.reduce.begin(), l);
    replace_index(c, position);
  }

  // Ranges that depend on the loop variable.

  /// Rewrites windows: `j in i - 2..i + 3` becomes `i - 2 + j` for j in 0..5, as many points as the loop visits. Not
  /// for argmin and argmax, whose results are label values. make_labels_rectangular then replaces ranges such as 0..i
  /// by their hull over the loop, with a guard.
  void move_windows(Compute& c) {
    if (c.monoid && locates(*c.monoid)) return;
    std::vector<Expr> moved;
    bool any = false;
    for (auto* list : {&c.out, &c.reduce}) {
      for (Label& l : *list) {
        moved.push_back(index_ref(static_cast<std::int32_t>(moved.size())));
        const auto first = linear_in(l.begin, body_.index);
        const auto last = linear_in(l.end, body_.index);
        if (!first || !last || first->coefficient == 0 || first->coefficient != last->coefficient) continue;
        any = true;
        moved.back() = binary(BinaryOp::kAdd, moved.back(), expr_of_polynomial(l.begin));
        l.end = l.end - l.begin;
        l.begin = 0;
      }
    }
    if (any) rewrite_expressions(c, [&](const Expr& e) { return substitute_labels(e, moved); });
  }

  bool make_labels_rectangular(const Node& node, Compute& c) {
    move_windows(c);
    Expr guard;
    Expr outer;  // the part on out labels
    std::int32_t number = 0;
    for (auto* list : {&c.out, &c.reduce}) {
      if (list == &c.reduce) outer = guard;
      for (Label& l : *list) {
        const Expr here = index_ref(number++);
        if (mentions(l.begin, body_.index)) {
          guard = conjunction_of(guard, binary(BinaryOp::kGe, here, expr_of_polynomial(l.begin)));
          if (!replace_by_extreme(l.begin, false)) return refuse(node.range, non_linear(l));
        }
        if (mentions(l.end, body_.index)) {
          guard = conjunction_of(guard, binary(BinaryOp::kLt, here, expr_of_polynomial(l.end)));
          if (!replace_by_extreme(l.end, true)) return refuse(node.range, non_linear(l));
        }
      }
    }
    if (guard && c.left.empty() && c.reduce.empty()) {
      return refuse(node.range, "a tensor of its body changes its shape from iteration to iteration");
    }
    // An empty reduction has a value, but a point of out labels without points of reduce labels is not stored.
    const bool selects = c.guard && mentions_labels(c.guard, c.out.size());
    empty_.reset();
    if (guard.id() != outer.id() && !c.left.empty() && !c.combine && !selects) empty_ = conjunction_of(outer, c.guard);
    c.guard = conjunction_of(guard, c.guard);
    return true;
  }

  /// Stores the identity where the statement's reduction may be empty, under the guard `empty_`.
  void store_identity(const Node& node, Compute& c, const Type& type) {
    if (!empty_) return;
    Node first = node;
    Compute f = c;
    f.bodies[0] = identity_of(*c.monoid, type.scalar);
    f.reduce.clear();
    f.monoid.reset();
    f.guard = *empty_;
    prepend_out(f);
    first.results = {program_.new_value(type, program_.info(node.results[0]).name, node.range)};
    first.op = std::move(f);
    c.base = first.results[0];
    nodes_.push_back(std::move(first));
  }

  static std::string non_linear(const Label& l) {
    return "the range of `" + l.name + "` is not linear in the loop variable";
  }

  bool replace_by_extreme(Extent& e, bool largest) const {
    const auto form = linear_in(e, body_.index);
    if (!form) return false;
    const Extent lowest = body_.step > 0 ? body_.begin : body_.end + Extent(1);
    const Extent highest = body_.step > 0 ? body_.end - Extent(1) : body_.begin;
    const bool at_highest = (form->coefficient > 0) == largest;
    e = Extent(form->coefficient) * (at_highest ? highest : lowest) + form->rest;
    return true;
  }

  // Statements that need more than a new label.

  /// `s = s + e`: a reduction over the iterations, then one addition.
  void accumulate_scalar(Node& node) {
    Compute& c = std::get<Compute>(node.op);
    const Type type = program_.type(node.results[0]);
    const ValueId old = *c.base;
    const Monoid monoid = *c.combine;
    if (c.reduce.empty()) c.monoid = monoid;
    if (monoid.kind == Monoid::Kind::kUser) {
      // Zero iterations leave the scalar unchanged; combine(s, identity) need not equal s.
      prepend_reduce(c);
      nodes_.push_back(std::move(node));
      return;
    }
    c.base.reset();
    c.combine.reset();
    // The sum of -e is exactly -(sum of e), which exposes sums of products.
    const auto* negation = std::get_if<Unary>(&c.bodies[0]->op);
    const bool subtracts = monoid.kind == Monoid::Kind::kSum && negation != nullptr && negation->op == UnaryOp::kNeg;
    if (subtracts) c.bodies[0] = Expr(negation->operand);
    TDSL_CHECK(equal(*c.monoid, monoid), "an accumulation reduces by its own operator");
    prepend_reduce(c);
    const ValueId total = program_.new_value(type, "", node.range);
    Compute sum;
    const Expr before = read(type.scalar, old, {}, node.range);
    const Expr change = read(type.scalar, total, {}, node.range);
    sum.bodies.push_back(subtracts ? binary(BinaryOp::kSub, before, change) : combined(monoid, before, change));
    const ValueId result = node.results[0];
    node.results = {total};
    nodes_.push_back(std::move(node));
    nodes_.push_back({nodes_.back().range, {result}, std::move(sum)});
  }

  /// Adds the iteration as a dimension of a per-iteration value.
  bool expand_local(Node& node) {
    Compute& c = std::get<Compute>(node.op);
    const ValueId v = node.results[0];
    const Type type = program_.type(v);
    for (const Extent& e : type.shape) {
      const std::vector<ValueId> values = e.values();
      const bool changes = std::ranges::any_of(values, [&](ValueId s) { return inside_.contains(s); });
      if (changes || mentions(e, body_.index)) {
        return refuse(node.range, "a tensor of its body changes its shape from iteration to iteration");
      }
    }
    if (type.rank() > 1) return refuse(node.range, "its body computes a whole tensor per iteration");
    const Type expanded = expanded_type(node.range, type);
    if (c.base && !expand_base(node, c, expanded)) return false;
    if (!c.left.empty()) c.left.insert(c.left.begin(), read(Scalar::kI64, iteration_, {}));
    store_identity(node, c, expanded);
    prepend_out(c);
    const ValueId wide = program_.new_value(expanded, program_.info(v).name, program_.info(v).range);
    node.results = {wide};
    expanded_.insert({v, wide});
    nodes_.push_back(std::move(node));
    return true;
  }

  Type expanded_type(const SourceRange& range, const Type& type) {
    Type expanded{type.scalar, {iterations_at_least_zero(range)}, {}};
    expanded.shape.insert(expanded.shape.end(), type.shape.begin(), type.shape.end());
    if (type.has_sparse()) {
      expanded.format = type.format;
      expanded.format.levels.insert(expanded.format.levels.begin(), Format::Level::kDense);
    }
    return expanded;
  }

  /// The number of iterations, clamped at 0. Loops over 0..n for a dimension, a constant or a checked size n need no
  /// clamp.
  Extent iterations_at_least_zero(const SourceRange& range) {
    const Extent count = iteration_count();
    if (const auto c = count.constant()) return Extent(std::max<std::int64_t>(*c, 0));
    if (const auto v = count.as_value(); v && (is_dimension(*v) || is_checked_size(count))) return count;
    Compute clamp;
    clamp.bodies.push_back(binary(BinaryOp::kMax, expr_of_polynomial(count), constant_i64(0)));
    const ValueId clamped = program_.new_value({Scalar::kI64, {}, {}}, "", range);
    nodes_.push_back({range, {clamped}, std::move(clamp)});
    return Extent::of(clamped);
  }

  [[nodiscard]] bool is_dimension(ValueId v) const {
    return std::ranges::any_of(program_.body.nodes, [&](const Node& n) {
      return std::holds_alternative<Dimension>(n.op) && n.results[0] == v;
    });
  }

  /// True if the program checks that the size is not negative, before its first loop, branch or effect.
  [[nodiscard]] bool is_checked_size(const Extent& size) const {
    for (const Node& n : program_.body.nodes) {
      const auto* check = std::get_if<Check>(&n.op);
      const bool sizes = check != nullptr && check->relation == Check::Relation::kAtMost && !check->guard;
      if (sizes && check->left == Extent(0) && check->right == size) return true;
      if (check == nullptr && (is_effect(n) || !regions_in(n).empty())) return false;
    }
    return false;
  }

  /// Replicates the base once per iteration.
  bool expand_base(const Node& node, Compute& c, const Type& expanded) {
    if (const auto found = expanded_.find(*c.base); found != expanded_.end()) {
      c.base = found->second;
      return true;
    }
    if (is_version(*c.base)) return refuse(node.range, "an older version of a tensor is updated again");
    Compute copies;
    std::vector<Expr> subscripts;
    copies.out.push_back(label(copies));
    for (std::size_t d = 1; d < expanded.shape.size(); ++d) {
      copies.out.push_back({"d" + std::to_string(d), 0, expanded.shape[d]});
      subscripts.push_back(index_ref(static_cast<std::int32_t>(d)));
    }
    copies.bodies.push_back(read(expanded.scalar, *c.base, std::move(subscripts)));
    const ValueId wide = program_.new_value(expanded, "", node.range);
    nodes_.push_back({node.range, {wide}, std::move(copies)});
    c.base = wide;
    return true;
  }

  Program& program_;
  const LoopBody& body_;
  const LoopDependences& dependences_;
  ValueMap& renames_;
  Refusal& refusal_;
  std::set<ValueId> inside_;   ///< defined by the statements
  ValueId iteration_;          ///< placeholder for the iteration number until the label's number is known
  ValueMap arguments_;         ///< carried argument -> initial value
  ValueMap expanded_;          ///< per-iteration value -> tensor over all iterations
  std::optional<Expr> empty_;  ///< where the current statement's reduction has a value, if it may be empty
  std::vector<Node> nodes_;
};

}  // namespace

std::optional<std::vector<Node>> vectorise(Program& program, const LoopBody& body, const LoopDependences& dependences,
                                           ValueMap& renames, Refusal& refusal) {
  return Vectoriser(program, body, dependences, renames, refusal).run();
}

}  // namespace tdsl::passes
