#include "codegen/nest/common_parts.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "codegen/operations/vector_forms.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

namespace {

struct SameExpression {
  bool operator()(const Expr& a, const Expr& b) const { return ir::equal(a, b); }
};
struct HashOfExpression {
  std::size_t operator()(const Expr& e) const { return ir::hash(e); }
};
using Parts = std::unordered_set<Expr, HashOfExpression, SameExpression>;

/// Subscripts are left as they are written.
std::vector<Expr> operands(const Expr& e) {
  return std::holds_alternative<ir::Read>(e->op) ? std::vector<Expr>{} : ir::children(*e);
}

bool is_logical_choice(const Expr& e) {
  const auto* b = std::get_if<ir::Binary>(&e->op);
  return b != nullptr && ir::is_logical(b->op);
}

/// The subexpressions that are evaluated whenever the expression is.
Parts certain_parts(const Expr& e, const BothBranches& both) {
  Parts parts{e};
  const auto* s = std::get_if<ir::Select>(&e->op);
  if (s != nullptr && !(both && both(*s))) {
    parts.merge(certain_parts(s->condition, both));
    Parts otherwise = certain_parts(s->when_false, both);
    for (const Expr& part : certain_parts(s->when_true, both)) {
      if (otherwise.contains(part)) parts.insert(part);
    }
    return parts;
  }
  for (const Expr& part : operands(e)) {
    parts.merge(certain_parts(part, both));
    if (is_logical_choice(e)) break;  // the right operand may be left out
  }
  return parts;
}

/// True for expressions that compute something and cannot fail: a local for them pays and may be computed early.
bool deserves_name(const Expr& e) {
  if (e->type == ir::Scalar::kBool) return false;
  bool computes = false, fails = false;
  const auto scan = [&](const auto& self, const Expr& part) -> void {
    const auto* u = std::get_if<ir::Unary>(&part->op);
    computes = computes || std::holds_alternative<ir::Binary>(part->op) ||
               std::holds_alternative<ir::Select>(part->op) || (u != nullptr && u->op != ir::UnaryOp::kNeg);
    fails = fails || may_fail(*part);
    if (const auto* r = std::get_if<ir::Read>(&part->op)) {
      for (const Expr& subscript : r->subscripts)
        ir::for_each_node(subscript, [&](const ir::ExprNode& n) { fails = fails || may_fail(n); });
    }
    for (const Expr& inner : operands(part)) self(self, inner);
  };
  scan(scan, e);
  return computes && !fails;
}

class CommonParts {
 public:
  CommonParts(const Expr& e, const BothBranches& both) : certain_(certain_parts(e, both)) { visit(e); }

  std::vector<Expr> list() {
    std::erase_if(order_, [this](const Expr& e) { return times_.at(e) < 2; });
    return std::move(order_);
  }

 private:
  /// A named expression is written once, so its parts are counted once.
  void visit(const Expr& e) {
    const bool nameable = certain_.contains(e) && deserves_name(e);
    if (nameable && ++times_[e] > 1) return;
    for (const Expr& part : operands(e)) visit(part);
    if (nameable) order_.push_back(e);
  }

  Parts certain_;
  std::unordered_map<Expr, int, HashOfExpression, SameExpression> times_;
  std::vector<Expr> order_;
};

}  // namespace

std::vector<Expr> common_parts(const Expr& e, const BothBranches& both) { return CommonParts(e, both).list(); }

}  // namespace tdsl::codegen
