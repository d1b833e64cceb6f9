#include "codegen/nest/interior.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "codegen/nest/facts.h"
#include "ir/eval/small_sums.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::nest {

namespace {

using ir::BinaryOp;

/// Limit on the points at an end of a range that count as few.
constexpr std::int64_t kFew = 64;
/// Upper bound on the end of every index range.
constexpr std::int64_t kBeyond = std::int64_t{1} << 62;

/// `index < at`, or the opposite.
struct Threshold {
  Extent at;
  bool before = true;      ///< true: the condition holds before `at`; false: from `at` on
  bool saturated = false;  ///< `at` is one past a value that may be the largest integer
};

/// The value of a comparison in the parts of the loop.
struct Decision {
  Expr comparison;
  bool interior = false;  ///< true: its value in the interior is `expected`
  bool expected = false;
  ValueId side;  ///< otherwise: a local with its value, negated unless `expected`
};

/// The ranges of indices: those of the task, and of enclosing loops over whole ranges.
using Ranges = std::map<int, Range>;

class Splitter {
 public:
  /// `line`: of a LineReduction, whose parts have no sides.
  Splitter(Nest& nest, For& loop, const Ranges& ranges, bool line = false)
      : nest_(nest),
        definitions_(definitions_of(nest)),
        loop_(loop),
        line_(line),
        label_(ir::label_value(loop.index)),
        ranges_(ranges) {}

  void run() {
    find_subscripts(loop_.body);
    find_conditions(loop_.body);
    const bool pays = loop_.order == Order::kSimd || line_ || !from_.empty() || !to_.empty();
    if (decisions_.empty() || !pays) return;
    if (bounded_) {
      parts_.inside = local("interior");
      for (const Extent& e : from_) parts_.from.push_back(ir::expr_of_polynomial(e));
      for (const Extent& e : to_) parts_.to.push_back(ir::expr_of_polynomial(e));
    }
    for_each_condition([this](Expr& e) { e = decided(e); });
    loop_.parts = std::move(parts_);
  }

 private:
  // --- Conditions that decide which elements are read or whether any is written

  /// Finds the locals that subscripts read.
  void find_subscripts(const Body& body) {
    for_each_statement(body, [this](const Statement& s) {
      for_each_expr(s, [this](const Expr& e) {
        ir::for_each_read(e, [this](const ir::Read& r) {
          for (const Expr& subscript : r.subscripts)
            ir::for_each_read(subscript, [this](const ir::Read& inner) { in_subscripts_.insert(inner.tensor); });
        });
      });
    });
  }
  void find_conditions(const Body& body) {
    for (const Statement& s : body) {
      if (const auto* branch = std::get_if<If>(&s.op)) {
        const auto* condition = std::get_if<Expr>(&branch->condition);
        if (condition != nullptr && loop_.order == Order::kSimd) decide_parts(*condition);
        find_conditions(branch->body);
        find_conditions(branch->otherwise);
        continue;
      }
      const auto* let = std::get_if<Let>(&s.op);
      const bool subscript = let != nullptr && in_subscripts_.contains(let->local);
      for_each_expr(s, [&](const Expr& e) {
        ir::for_each_node(e, [&](const ir::ExprNode& n) {
          const auto* select = std::get_if<ir::Select>(&n.op);
          if (select != nullptr &&
              (subscript || reads_elements(select->when_true) || reads_elements(select->when_false)))
            decide_parts(select->condition);
        });
      });
    }
  }
  [[nodiscard]] static bool reads_elements(const Expr& e) {
    bool found = false;
    ir::for_each_read(e, [&](const ir::Read& r) { found = found || !r.subscripts.empty(); });
    return found;
  }

  void decide_parts(const Expr& condition) {
    if (const auto* u = std::get_if<ir::Unary>(&condition->op); u != nullptr && u->op == ir::UnaryOp::kNot)
      return decide_parts(u->operand);
    const auto* b = std::get_if<ir::Binary>(&condition->op);
    if (b == nullptr) return;
    if (ir::is_logical(b->op)) {
      decide_parts(b->left);
      decide_parts(b->right);
    } else if (ir::is_comparison(b->op) && b->left->type == ir::Scalar::kI64 && decision_of(condition) == nullptr) {
      decide(condition, *b);
    }
  }
  [[nodiscard]] const Decision* decision_of(const Expr& e) const {
    const auto found = std::ranges::find_if(decisions_, [&](const Decision& d) { return ir::equal(d.comparison, e); });
    return found == decisions_.end() ? nullptr : &*found;
  }

  void decide(const Expr& e, const ir::Binary& b) {
    const auto left = ir::polynomial_of(expanded(definitions_, b.left));
    const auto right = ir::polynomial_of(expanded(definitions_, b.right));
    if (!left || !right || !is_known(*left) || !is_known(*right)) return;
    const auto form = ir::linear_in(*left - *right, label_);
    if (!form) return;
    const bool small = stays_small(*left) && stays_small(*right);
    if (form->coefficient == 0) {
      // The index may occur on both sides.
      if (!ir::mentions_label(expanded(definitions_, e), loop_.index)) decide_outside(e, b.op, form->rest, small);
      return;
    }
    // The index may be compared with any value without arithmetic.
    if (std::abs(form->coefficient) != 1 || !(small || (left->as_value() && right->as_value()))) return;
    const Extent at = form->coefficient == 1 ? Extent(0) - form->rest : form->rest;
    if (b.op == BinaryOp::kEq || b.op == BinaryOp::kNe) {
      if (small) decide_point(e, at, b.op == BinaryOp::kNe);
    } else {
      decide_threshold(e, threshold(b.op, form->coefficient == 1, at, !small));
    }
  }

  /// The threshold of `index op at`, or if not `forward` of `at op index`.
  static Threshold threshold(BinaryOp op, bool forward, const Extent& at, bool may_be_large) {
    const bool less = op == BinaryOp::kLt || op == BinaryOp::kLe;
    const bool before = less == forward;
    const bool strict = op == BinaryOp::kLt || op == BinaryOp::kGt;
    // `index <= at` holds before, `index > at` from at + 1 on.
    const bool past = before != strict;
    return {past ? at + Extent(1) : at, before, past && may_be_large};
  }

  /// A condition that holds on one side of a threshold in the index's range.
  void decide_threshold(const Expr& e, const Threshold& t) {
    const Range& range = ranges_.at(loop_.index);
    if (is_few(t.at - range.begin)) {
      begin_interior(t.at);
      return bounds_interior(e, !t.before);
    }
    if (is_few(range.end - t.at)) {
      end_interior(t.at);
      return bounds_interior(e, t.before);
    }
    const Expr until = position(t);
    const auto known = std::ranges::find_if(
        parts_.sides, [&](const Side& side) { return side.until && ir::equal(side.until, until); });
    if (known != parts_.sides.end()) {
      decisions_.push_back({e, false, t.before, known->local});
    } else if (const std::optional<ValueId> side = new_side({{}, until, {}}, "before")) {
      decisions_.push_back({e, false, t.before, *side});
    }
  }
  static Expr position(const Threshold& t) {
    if (!t.saturated) return ir::expr_of_polynomial(t.at);
    return ir::index_sum(
        ir::binary(BinaryOp::kMin, ir::expr_of_polynomial(t.at - Extent(1)), ir::constant_i64(kBeyond)),
        ir::constant_i64(1));
  }

  void begin_interior(const Extent& at) {
    if (!is_at_most(at, ranges_.at(loop_.index).begin)) keep_outermost(from_, at, is_at_most);
  }
  void end_interior(const Extent& at) {
    if (!is_at_most(ranges_.at(loop_.index).end, at))
      keep_outermost(to_, at, [](const Extent& a, const Extent& b) { return is_at_most(b, a); });
  }
  /// Adds a bound unless another one implies it, and drops those it implies.
  template <class Implied>
  static void keep_outermost(std::vector<Extent>& bounds, const Extent& at, const Implied& implied) {
    if (std::ranges::any_of(bounds, [&](const Extent& known) { return implied(at, known); })) return;
    std::erase_if(bounds, [&](const Extent& known) { return implied(known, at); });
    bounds.push_back(at);
  }
  static bool is_at_most(const Extent& a, const Extent& b) {
    const auto distance = (b - a).constant();
    return distance && *distance >= 0;
  }

  /// `index == at` at an end of its range.
  void decide_point(const Expr& e, const Extent& at, bool expected) {
    const Range& range = ranges_.at(loop_.index);
    if (is_few(at - range.begin)) {
      begin_interior(at + Extent(1));
    } else if (is_few(range.end - at)) {
      end_interior(at);
    } else {
      return;
    }
    bounds_interior(e, expected);
  }

  /// A condition independent of the loop's index: `rest op 0`.
  void decide_outside(const Expr& e, BinaryOp op, const Extent& rest, bool small) {
    const Expr condition = expanded(definitions_, e);
    if (const std::optional<Outside> outside = outside_of(op, rest)) {
      if (!outside->always || !small)
        parts_.where = ir::conjunction_of(parts_.where, outside->expected ? condition : opposite(condition));
      return bounds_interior(e, outside->expected);
    }
    if (const std::optional<ValueId> side = new_side({{}, {}, condition}, "holds"))
      decisions_.push_back({e, false, true, *side});
  }
  struct Outside {
    bool expected;        ///< the value at all but a few points of an enclosing loop
    bool always = false;  ///< at all of its points
  };
  [[nodiscard]] std::optional<Outside> outside_of(BinaryOp op, const Extent& rest) const {
    if (op == BinaryOp::kEq || op == BinaryOp::kNe) return Outside{op == BinaryOp::kNe};
    for (const auto& [k, range] : ranges_) {
      const auto form = ir::linear_in(rest, ir::label_value(k));
      if (!form || std::abs(form->coefficient) != 1) continue;
      const bool forward = form->coefficient == 1;
      const Threshold t = threshold(op, forward, forward ? Extent(0) - form->rest : form->rest, false);
      if (is_few(t.at - range.begin)) return Outside{!t.before, is_at_most(t.at, range.begin)};
      if (is_few(range.end - t.at)) return Outside{t.before, is_at_most(range.end, t.at)};
    }
    return std::nullopt;
  }

  /// True if the distance is at most kFew, except in tiny ranges.
  [[nodiscard]] bool is_few(const Extent& distance) const {
    const auto few = [](const Extent& e) {
      const auto points = e.constant();
      return points && *points <= kFew;
    };
    return few(distance) || std::ranges::any_of(distance.values(), [&](ValueId v) {
             if (is_index(v)) return false;
             const Extent value = Extent::of(v);
             const Variable::Turn turn = nest_.variable(v).turn;
             if (turn == Variable::Turn::kFew) return few(distance - value);
             return turn == Variable::Turn::kAllButFew && std::ranges::any_of(ranges_, [&](const auto& entry) {
                      return few(distance - (entry.second.end - value));
                    });
           });
  }

  void bounds_interior(const Expr& e, bool expected) {
    bounded_ = true;
    decisions_.push_back({e, true, expected, {}});
  }
  std::optional<ValueId> new_side(Side side, std::string name) {
    if (loop_.order != Order::kSimd || parts_.sides.size() == static_cast<std::size_t>(kMostSides)) return std::nullopt;
    side.local = local(std::move(name));
    parts_.sides.push_back(std::move(side));
    return parts_.sides.back().local;
  }
  ValueId local(std::string name) {
    nest_.variables.push_back({Variable::Role::kLocal, std::move(name), {ir::Scalar::kBool, {}, {}}});
    return {static_cast<std::int32_t>(nest_.variables.size() - 1)};
  }

  // --- Arithmetic

  /// True if all its values are indices of enclosing loops or captures.
  [[nodiscard]] bool is_known(const Extent& e) const {
    return std::ranges::all_of(e.values(), [this](ValueId v) {
      return is_index(v) ? ranges_.contains(label_of(v)) : nest_.variable(v).role == Variable::Role::kCapture;
    });
  }
  static bool is_index(ValueId v) { return v.id <= ir::label_value(0).id; }
  static int label_of(ValueId index) { return ir::label_value(0).id - index.id; }
  /// True if sums with another such polynomial do not wrap around.
  [[nodiscard]] bool stays_small(const Extent& e) const {
    return ir::is_small_sum(e, [this](const Extent& product) {
      const auto value = product.as_value();
      if (value && is_index(*value)) return nest_.form == Form::kKernel || ends_small(ranges_.at(label_of(*value)));
      if (value && nest_.variable(*value).size) return true;
      return nest_.form == Form::kKernel &&
             std::ranges::any_of(ranges_, [&](const auto& entry) { return entry.second.end == product; });
    });
  }
  /// True if begin and end of a range are small sums of sizes. (Those of a kernel's indices always are.)
  [[nodiscard]] bool ends_small(const Range& range) const {
    const auto small = [this](const Extent& e) {
      return ir::is_small_sum(e, [this](const Extent& product) {
        const auto value = product.as_value();
        return value && !is_index(*value) && nest_.variable(*value).size;
      });
    };
    return small(range.begin) && small(range.end);
  }

  // --- Rewriting

  template <class F>
  void for_each_condition(const F& f) {
    const auto selects = [&](const Expr& e) {
      return ir::rewrite(e, [&](const Expr& part) {
        const auto* s = std::get_if<ir::Select>(&part->op);
        if (s == nullptr) return part;
        Expr condition = s->condition;
        f(condition);
        return condition.id() == s->condition.id() ? part : ir::select(condition, s->when_true, s->when_false);
      });
    };
    const std::function<void(Body&)> body = [&](Body& statements) {
      for (Statement& s : statements) {
        if (auto* branch = std::get_if<If>(&s.op)) {
          if (auto* condition = std::get_if<Expr>(&branch->condition)) {
            *condition = selects(*condition);
            f(*condition);
          }
          body(branch->body);
          body(branch->otherwise);
        }
        if (auto* let = std::get_if<Let>(&s.op)) let->value = selects(let->value);
        if (auto* store = std::get_if<Store>(&s.op)) store->value = selects(store->value);
        if (auto* update = std::get_if<Update>(&s.op)) update->value = selects(update->value);
        if (auto* line = std::get_if<RowReduction>(&s.op)) line->value = selects(line->value);
        if (auto* offer = std::get_if<Offer>(&s.op)) offer->value = selects(offer->value);
      }
    };
    body(loop_.body);
  }

  static Expr opposite(const Expr& e) { return ir::unary(ir::UnaryOp::kNot, e); }
  [[nodiscard]] Expr local_read(ValueId v) const { return ir::read(ir::Scalar::kBool, v, {}); }

  /// The condition in terms of the loop's parts.
  [[nodiscard]] Expr decided(const Expr& e) const {
    if (const std::optional<bool> expected = expected_of(e)) {
      const Expr inside = local_read(*parts_.inside);
      return *expected ? ir::binary(BinaryOp::kOr, inside, e) : ir::binary(BinaryOp::kAnd, opposite(inside), e);
    }
    if (const Decision* d = decision_of(e)) return d->expected ? local_read(d->side) : opposite(local_read(d->side));
    if (const auto* u = std::get_if<ir::Unary>(&e->op); u != nullptr && u->op == ir::UnaryOp::kNot)
      return opposite(decided(u->operand));
    const auto* b = std::get_if<ir::Binary>(&e->op);
    if (b == nullptr || !ir::is_logical(b->op)) return e;
    return ir::binary(b->op, decided(b->left), decided(b->right));
  }
  /// Its value in the interior.
  [[nodiscard]] std::optional<bool> expected_of(const Expr& e) const {
    if (const Decision* d = decision_of(e)) return d->interior ? std::optional(d->expected) : std::nullopt;
    if (const auto* u = std::get_if<ir::Unary>(&e->op); u != nullptr && u->op == ir::UnaryOp::kNot) {
      const auto operand = expected_of(u->operand);
      return operand ? std::optional(!*operand) : std::nullopt;
    }
    const auto* b = std::get_if<ir::Binary>(&e->op);
    if (b == nullptr || !ir::is_logical(b->op)) return std::nullopt;
    // The operand that decides alone; otherwise both are needed.
    const bool strong = b->op == BinaryOp::kOr;
    const auto left = expected_of(b->left), right = expected_of(b->right);
    if (left == strong || right == strong) return strong;
    return left && right ? std::optional(!strong) : std::nullopt;
  }

  Nest& nest_;
  Definitions definitions_;
  For& loop_;
  bool line_;
  ValueId label_;
  const Ranges& ranges_;
  std::set<ValueId> in_subscripts_;
  Parts parts_;
  std::vector<Extent> from_, to_;
  bool bounded_ = false;
  std::vector<Decision> decisions_;
};

/// True for a loop over a `Range` that contains no other loop.
bool is_innermost(const For& loop) {
  bool found = false;
  for_each_statement(loop.body, [&](const Statement& s) {
    found = found || std::holds_alternative<For>(s.op) || std::holds_alternative<Count>(s.op) ||
            std::holds_alternative<While>(s.op);
  });
  return std::holds_alternative<Range>(loop.over) && !found;
}

void split(Nest& nest, LineReduction& line, const Ranges& ranges) {
  For loop{line.index, line.over, Order::kSerial, {}};
  for (const Let& let : line.lets) loop.body.push_back({let, {}});
  loop.body.push_back({Store{{line.local, {}}, line.value}, {}});
  Splitter(nest, loop, ranges, true).run();
  if (!loop.parts) return;
  line.parts = std::move(loop.parts);
  line.value = std::get<Store>(loop.body.back().op).value;
  for (std::size_t k = 0; k < line.lets.size(); ++k) line.lets[k] = std::get<Let>(loop.body[k].op);
}

void split(Nest& nest, Body& body, Ranges& ranges) {
  for (Statement& s : body) {
    if (auto* line = std::get_if<LineReduction>(&s.op); line != nullptr && !line->mask) split(nest, *line, ranges);
    if (auto* loop = std::get_if<For>(&s.op)) {
      const auto* range = std::get_if<Range>(&loop->over);
      if (range != nullptr) ranges[loop->index] = *range;
      if (!loop->parts && (loop->order == Order::kSimd || is_innermost(*loop))) {
        Splitter(nest, *loop, ranges).run();
      } else {
        split(nest, loop->body, ranges);
      }
      if (range != nullptr) ranges.erase(loop->index);
    }
    if (auto* branch = std::get_if<If>(&s.op)) {
      split(nest, branch->body, ranges);
      split(nest, branch->otherwise, ranges);
    }
    if (auto* count = std::get_if<Count>(&s.op)) split(nest, count->body, ranges);
    if (auto* loop = std::get_if<While>(&s.op)) split(nest, loop->body, ranges);
  }
}

}  // namespace

void split_interiors(Nest& nest) {
  if (nest.form == Form::kRows) return;
  Ranges ranges;
  for (std::size_t k = 0; k < nest.indices.size(); ++k) {
    const Index& index = nest.indices[k];
    if (index.of_task) ranges[static_cast<int>(k)] = {index.begin, index.end};
  }
  split(nest, nest.body, ranges);
}

}  // namespace tdsl::nest
