#include "codegen/loops/blocking.h"

#include <algorithm>
#include <set>

#include "codegen/nest/facts.h"
#include "ir/analysis/vector_form.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/inequalities.h"

namespace tdsl::codegen {

namespace {

class Splitter {
 public:
  Splitter(const IsOperand& is_operand, Blocking& into) : is_operand_(is_operand), into_(into) {}

  /// True if the expression is a function of x and y values, which are collected.
  bool split(const Expr& e) {
    if (!ir::has_vectors(e->type)) return false;
    const std::set<int> labels = ir::labels_in(e);
    if (!varies(e, labels)) return true;
    if (!labels.contains(into_.column)) return keep(into_.x, e);
    if (!labels.contains(into_.row)) return keep(into_.y, e);
    if (std::holds_alternative<ir::Read>(e->op) || !ir::has_vector_form(*e)) return false;
    const ir::Children parts = ir::children(*e);
    return std::ranges::all_of(parts, [&](const Expr& part) { return split(part); });
  }

 private:
  /// Parts fixed by loops other than rows, columns and sums are left in place.
  [[nodiscard]] bool varies(const Expr& e, const std::set<int>& labels) const {
    const bool loops =
        std::ranges::any_of(labels, [&](int l) { return std::ranges::find(into_.outer, l) == into_.outer.end(); });
    bool reads = false;
    ir::for_each_node(e, [&](const ir::ExprNode& n) { reads = reads || is_operand_(n); });
    return loops || reads;
  }

  static bool keep(Blocking::Values& values, const Expr& e) {
    const auto known =
        std::ranges::find_if(values, [&](const std::vector<Expr>& places) { return ir::equal(places.front(), e); });
    if (known == values.end()) {
      values.push_back({e});
    } else {
      known->push_back(e);
    }
    return true;
  }

  const IsOperand& is_operand_;
  Blocking& into_;
};

/// Known properties of a float, provided x and y values are neither nan nor inf.
enum class Known : std::uint8_t { kNothing, kNoNan, kFinite };

Known known_of(const Expr& e, const Blocking& blocks) {
  const auto is_value = [&](const Blocking::Values& values) {
    return std::ranges::any_of(values, [&](const std::vector<Expr>& places) {
      return std::ranges::any_of(places, [&](const Expr& place) { return place.id() == e.id(); });
    });
  };
  if (!ir::is_float(e->type)) return Known::kNothing;
  if (is_value(blocks.x) || is_value(blocks.y)) return Known::kFinite;
  if (const auto* u = std::get_if<ir::Unary>(&e->op)) {
    return u->op == ir::UnaryOp::kNeg || u->op == ir::UnaryOp::kAbs ? known_of(u->operand, blocks) : Known::kNothing;
  }
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b == nullptr) return Known::kNothing;
  const Known left = known_of(b->left, blocks), right = known_of(b->right, blocks);
  if (left == Known::kNothing || right == Known::kNothing) return Known::kNothing;
  const bool finite = left == Known::kFinite && right == Known::kFinite,
             one_finite = left == Known::kFinite || right == Known::kFinite;
  using enum ir::BinaryOp;
  // A result may overflow; inf - inf and 0 * inf are nan.
  if (b->op == kAdd || b->op == kSub) return one_finite ? Known::kNoNan : Known::kNothing;
  if (b->op == kMul) return finite ? Known::kNoNan : Known::kNothing;
  if (b->op == kMin || b->op == kMax) return finite ? Known::kFinite : Known::kNoNan;
  return Known::kNothing;
}

bool can_fail(const Expr& e) { return e && ir::may_fail(e); }

/// True if the integer does not overflow at the points of the reduction: a sum of index variables, ends of their ranges
/// and numbers.
bool is_bounded(const Expr& e, const ir::Compute& compute) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  const auto is_end = [&](ValueId v) {
    const auto alone = [&](const Extent& end) { return ir::is_linear(end) && end.values() == std::vector{v}; };
    const auto of_range = [&](const ir::Label& l) { return alone(l.begin) || alone(l.end); };
    return std::ranges::any_of(compute.out, of_range) || std::ranges::any_of(compute.reduce, of_range);
  };
  const auto polynomial = ir::polynomial_of(e);
  return polynomial && std::ranges::all_of(polynomial->terms(), [&](const auto& term) {
           const auto& [atoms, number] = term;
           if (number > kLargest || number < -kLargest) return false;
           if (atoms.empty()) return true;
           if (atoms.size() != 1 || atoms[0]->kind != Extent::Atom::Kind::kValue) return false;
           const ValueId v = atoms[0]->value;
           return (v.id <= ir::label_value(0).id || is_end(v)) && number <= (1 << 10) && number >= -(1 << 10);
         });
}

/// True if the conjunct says which elements are reduced, and blocks of these can be told by their corners.
bool selects_elements(const Expr& part, const ir::Compute& compute, const Blocking& blocks) {
  if (!nest::is_half_plane(part, blocks.row, blocks.column)) return false;
  const auto& comparison = std::get<ir::Binary>(part->op);
  return !ir::mentions_labels(part, compute.out.size()) && is_bounded(comparison.left, compute) &&
         is_bounded(comparison.right, compute);
}

/// The register-blocked loops of the runtime are of numbers in vectors.
bool computes_complex(const Expr& e) {
  return e && ir::any_node(e, [](const ir::ExprNode& n) { return ir::is_complex(n.type); });
}

}  // namespace

std::optional<Blocking> blocking(const ir::Compute& compute, Blocking labels, const IsOperand& is_operand) {
  if (!compute.monoid || can_fail(compute.bodies.front()) || can_fail(compute.guard)) return std::nullopt;
  if (computes_complex(compute.bodies.front()) || computes_complex(compute.guard)) return std::nullopt;
  if (compute.monoid->kind == ir::Monoid::Kind::kUser) {
    bool vectors = !can_fail(compute.monoid->combine);
    ir::for_each_node(compute.monoid->combine,
                      [&](const ir::ExprNode& n) { vectors = vectors && ir::has_vector_form(n); });
    if (!vectors) return std::nullopt;
  }
  Splitter splitter(is_operand, labels);
  if (!splitter.split(compute.bodies.front())) return std::nullopt;
  const bool joins = !labels.x.empty() && !labels.y.empty();
  for (const Expr& part : ir::conjuncts(compute.guard)) {
    Expr& side = joins && selects_elements(part, compute, labels) ? labels.points : labels.guard;
    side = ir::conjunction_of(side, part);
  }
  if (labels.guard && !splitter.split(labels.guard)) return std::nullopt;
  if (labels.x.empty() || labels.y.empty()) return std::nullopt;
  const bool extremum =
      compute.monoid->kind == ir::Monoid::Kind::kMin || compute.monoid->kind == ir::Monoid::Kind::kMax;
  labels.numbers = extremum && known_of(compute.bodies.front(), labels) != Known::kNothing;
  return labels;
}

std::optional<Blocking> blocking(const RecordedOp& op, const ComputeKernel& kernel) {
  // Values are computed for whole blocks, ignoring guards: every read must be in bounds everywhere.
  const bool everywhere =
      kernel.checked.empty() && kernel.trusted.empty() && kernel.gathers.empty() && kernel.scattered.empty();
  if (!kernel.compute.monoid || !everywhere) return std::nullopt;
  const int column = row_label(op);
  const std::vector<int> out = out_labels(op);
  const auto uses = std::ranges::count_if(op.out, [&](const auto& o) { return o.label == column; });
  if (column < 0 || uses > 1) return std::nullopt;
  const IsOperand is_operand = [&](const ir::ExprNode& n) { return kernel.operand.contains(&n); };
  for (auto row = out.rbegin(); row != out.rend(); ++row) {
    if (*row == column) continue;
    Blocking labels;
    labels.row = *row;
    labels.column = column;
    for (const int l : out) {
      if (l != column && l != *row) labels.outer.push_back(l);
    }
    for (std::size_t l = 0; l < op.labels.size(); ++l) {
      const auto label = static_cast<int>(l);
      if (op.role_of(label) == plan::LabelRole::kReduce) labels.reduce.push_back(label);
    }
    if (std::optional<Blocking> result = blocking(kernel.compute, std::move(labels), is_operand)) return result;
  }
  return std::nullopt;
}

}  // namespace tdsl::codegen
