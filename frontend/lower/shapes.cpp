#include <algorithm>
#include <limits>

#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"
#include "ir/eval/small_sums.h"
#include "runtime/size.h"

namespace tdsl::frontend {

using ir::Expr;
using ir::Extent;
using ir::Scalar;
using ir::ValueId;

void Lowerer::agree(const Dim& a, const Dim& b, const SourceRange& range, const std::string& where,
                    const std::string& hint) {
  const auto order = ir::compare(a.extent, b.extent, [this](ValueId v) { return dimension_values_.contains(v); });
  if (order == ir::ExtentOrder::kEqual) return;
  const std::string left = graph_.text(a.extent);
  const std::string right = graph_.text(b.extent);
  if (order == ir::ExtentOrder::kDifferent) {
    Reports::Notes notes = {{a.range, a.what + " is " + left}, {b.range, b.what + " is " + right}};
    for (const ValueId v : (a.extent - b.extent).values()) {
      const ir::ValueInfo& info = graph_.program().info(v);
      if (info.range.known() && !info.name.empty())
        notes.push_back(
            {info.range, "`" + info.name + (dimension_values_.contains(v) ? "` is bound here" : "` is computed here")});
    }
    reports_.fail(DiagnosticId::kShapeMismatch, range,
                  "sizes " + left + " and " + right + " do not agree " + where + hint, std::move(notes));
  }
  // What a size is made of, unless that is the number itself.
  const auto described = [](const Dim& dim, const std::string& text) {
    return dim.extent.constant() ? dim.what : dim.what + " (" + text + ")";
  };
  check({ir::Check::Relation::kEqual,
         a.extent,
         b.extent,
         "sizes do not agree " + where + ": " + described(a, left) + " is {left}, but " + described(b, right) +
             " is {right}",
         {}},
        range);
}

namespace {

/// The texts of both sides, the relation with the second.
std::pair<std::string, std::string> check_key(ir::Check::Relation relation, const Extent& left, const Extent& right) {
  const auto text = [](const Extent& e) { return e.to_string([](ValueId v) { return std::to_string(v.id) + "v"; }); };
  return {text(left), (relation == ir::Check::Relation::kEqual ? "= " : "<= ") + text(right)};
}

}  // namespace

bool Lowerer::is_checked(ir::Check::Relation relation, const Extent& left, const Extent& right) const {
  const auto key = check_key(relation, left, right);
  for (std::size_t depth = 0; depth <= graph_.region_depth(); ++depth) {
    if (checked_.contains({depth, key.first, key.second})) return true;
  }
  return false;
}

void Lowerer::check(ir::Check check, const SourceRange& range) {
  if (check.relation == ir::Check::Relation::kAtMost) {
    // A condition on index variables guards single elements, not the whole tensor.
    if (std::ranges::any_of(guards_.conditions(), [](const Expr& g) { return !labels_of(g).empty(); })) return;
    if (const Expr guard = guards_.all()) check.guard = values_.materialise(scalar_tensor(guard), "", range);
  }
  // A check made before in this region or around it need not be repeated.
  if (is_checked(check.relation, check.left, check.right)) return;
  if (!check.guard) {
    const auto [left, right] = check_key(check.relation, check.left, check.right);
    checked_.insert({graph_.region_depth(), left, right});
  }
  graph_.emit_effect(std::move(check), range);
}

void Lowerer::require_size(const Extent& size, const std::string& what, const SourceRange& range) {
  require_not_negative(size, what, range);
  require_in_64_bits(size, what, range);
}

void Lowerer::require_in_64_bits(const Extent& size, const std::string& what, const SourceRange& range) {
  if (size.constant() || size.as_value()) return;  // compared with the limit as part of the shape
  // Dimensions are sizes of inputs, and so are far from the end of 64 bits; products of them are not.
  constexpr std::int64_t kFewTimes = 64;
  const bool fits =
      size.terms().size() < 8 && std::ranges::all_of(size.terms(), [this](const auto& term) {
        return term.first.empty() ||
               (term.first.size() == 1 && term.second > -kFewTimes && term.second < kFewTimes &&
                term.first[0]->kind == Extent::Atom::Kind::kValue && dimension_values_.contains(term.first[0]->value));
      });
  if (!fits)
    check({ir::Check::Relation::kAtMost,
           size,
           rt::kMostTensorBytes,
           what + " is {left}; a dimension has at most 2^53 elements",
           {}},
          range);
}

bool Lowerer::may_be_negative(const Extent& size) const {
  // Dimensions are never negative, and so are sums and products of them.
  return !std::ranges::all_of(size.terms(), [this](const auto& term) {
    return term.second >= 0 && std::ranges::all_of(term.first, [this](const Extent::AtomRef& atom) {
             return atom->kind == Extent::Atom::Kind::kValue && dimension_values_.contains(atom->value);
           });
  });
}

Extent Lowerer::length_of(const Extent& size) {
  if (!may_be_negative(size) || is_checked(ir::Check::Relation::kAtMost, 0, size)) return size;
  if (const auto constant = size.constant()) return std::max<std::int64_t>(*constant, 0);
  return graph_.extent_of(ir::binary(ir::BinaryOp::kMax, expr_of(graph_.program(), size), ir::constant_i64(0)),
                          "length");
}

void Lowerer::require_countable(const Extent& begin, const Extent& end, const std::string& name,
                                const SourceRange& range) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::string message = rt::uncountable_text(name);
  const auto first = begin.constant();
  const auto last = end.constant();
  if (first && last) {
    if (!rt::is_countable(*first, *last)) reports_.fail(DiagnosticId::kTooLarge, range, message);
    return;
  }
  // Sums of sizes and of one other number do not leave 64 bits. Deeper inside, ranges are looked at when they become
  // index variables.
  const Extent span = end - begin;
  int others = 0;
  for (const auto& [monomial, number] : span.terms()) {
    const bool of_sizes = std::ranges::all_of(monomial, [this](const Extent::AtomRef& atom) {
      return atom->kind == Extent::Atom::Kind::kValue && dimension_values_.contains(atom->value);
    });
    if (!of_sizes || !ir::is_small_number(number)) others += number == 1 || number == -1 ? 1 : 2;
  }
  constexpr std::size_t kTopLevel = 1;
  if (others < 2 || graph_.region_depth() > kTopLevel) return;
  check({ir::Check::Relation::kAtMost, span, kMost, message, {}}, range);
  check({ir::Check::Relation::kAtMost, begin - end, kMost, message, {}}, range);
}

void Lowerer::require_not_negative(const Extent& size, const std::string& what, const SourceRange& range) {
  if (!may_be_negative(size)) return;
  const auto constant = size.constant();
  if (constant)
    reports_.fail(DiagnosticId::kBadDimension, range,
                  what + " is " + std::to_string(*constant) + "; a size cannot be negative");
  check({ir::Check::Relation::kAtMost, 0, size, what + " is {right}; a size cannot be negative", {}}, range);
}

Dim Lowerer::broadcast(const Dim& a, const Dim& b, const SourceRange& range, const std::string& where,
                       const std::string& hint) {
  if (a.extent == b.extent) return a;
  if (a.extent.constant() == 1) return b;
  if (b.extent.constant() == 1) return a;
  agree(a, b, range, where, hint);
  return a;
}

Extent Lowerer::dimension_extent(const ast::Expr& e) {
  const auto bad = [&](const std::string& message) { reports_.fail(DiagnosticId::kBadDimension, e.range, message); };
  if (const auto* literal = std::get_if<ast::IntegerLiteral>(&e.node)) return literal->value;
  if (const std::string* name = bare_name(e)) {
    const auto dimension = dimensions().find(*name);
    if (dimension != dimensions().end()) {
      dimension->second.used = true;
      return dimension->second.extent;
    }
    const SymbolRef symbol = scope_->find(*name);
    if (symbol && symbol->kind == Symbol::Kind::kVar) {
      bad("`" + *name + "` is a var; a dimension needs a value that cannot change: use let");
    }
    const Tensor t = lower_name(*name, e.range, false);
    if (t.rank() != 0 || !ir::is_integer(t.scalar())) {
      bad("`" + *name + "` is " + graph_.text(t) + "; a dimension needs an integer scalar");
    }
    return graph_.extent_of(ir::cast(Scalar::kI64, t.body), *name);
  }
  if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
    if (unary->op == ast::UnaryOp::kNegate) return Extent(0) - dimension_extent(*unary->operand);
  }
  if (const auto* b = std::get_if<ast::Binary>(&e.node)) {
    const Extent left = dimension_extent(*b->lhs);
    const Extent right = dimension_extent(*b->rhs);
    const bool divides = b->op == ast::BinaryOp::kDiv || b->op == ast::BinaryOp::kMod;
    if (divides && right.constant() == 0) bad("division by zero in a dimension");
    if (b->op == ast::BinaryOp::kAdd) return left + right;
    if (b->op == ast::BinaryOp::kSub) return left - right;
    if (b->op == ast::BinaryOp::kMul) {
      const auto product = ir::product_if_small(left, right);
      if (!product) bad("this dimension has too many terms when multiplied out; name a part of it with `let`");
      return *product;
    }
    if (b->op == ast::BinaryOp::kDiv) return Extent::quotient(left, right);
    if (b->op == ast::BinaryOp::kMod) return Extent::remainder(left, right);
  }
  bad("a dimension is built from integers, dimension names, params and immutable integer scalars with + - * / % ( )");
  return {};
}

Extent Lowerer::new_dimension(const ast::Identifier& name) {
  const ValueId v = graph_.emit(ir::Dimension{name.name}, {Scalar::kI64, {}, {}}, name.name, name.range);
  dimension_values_.insert(v);
  dimensions()[name.name] = {Extent::of(v), name.range, true};
  return Extent::of(v);
}

ir::Type Lowerer::lower_type(const ast::TypeExpr& type, const BindDimension& bind) {
  const Scalar scalar = reports_.scalar_of(type.scalar, type.range);
  if (type.dimensions.size() > 8)
    reports_.fail(DiagnosticId::kRankMismatch, type.range, "a tensor has at most 8 dimensions");
  ir::Type result{scalar, {}, {}};
  for (const ast::Dimension& d : type.dimensions) {
    const std::string* name = bare_name(*d.extent);
    const bool is_new = name != nullptr && !dimensions().contains(*name) && !is_scalar_variable(*name);
    const auto bound = bind && is_new ? bind({*name, d.extent->range}, result.shape.size()) : std::nullopt;
    result.shape.push_back(bound ? *bound : dimension_extent(*d.extent));
    if (result.shape.back().constant()) require_not_negative(result.shape.back(), "this dimension", d.range);
  }
  // `sparse f64[n, m]`: all but the first, of one dimension that one.
  for (std::size_t d = 0; d < type.dimensions.size(); ++d)
    result.sparse.push_back(type.dimensions[d].sparse || (type.sparse && (d > 0 || type.dimensions.size() == 1)));
  if (result.has_sparse()) {
    graph_.note_sparse();
  } else {
    result.sparse.clear();
  }
  values_.require_legal(result, "", type.range);
  return result;
}

void Lowerer::require_sizes(const ast::TypeExpr& written, const ir::Type& type) {
  for (std::size_t d = 0; d < written.dimensions.size(); ++d) {
    const SourceRange& range = written.dimensions[d].range;
    require_size(type.shape[d], "the size " + reports_.source_text(range), range);
  }
}

void Lowerer::require_shape(const Tensor& t, const ir::Type& type, const std::string& what, const SourceRange& range) {
  if (t.rank() != type.rank()) {
    reports_.fail(DiagnosticId::kRankMismatch, range,
                  what + " is " + graph_.text(type) + ", but the value is " + graph_.text(t) +
                      (t.rank() == 0 ? "; to fill it use full(v, …)" : ""));
  }
  for (std::size_t d = 0; d < t.rank(); ++d) {
    const Dim wanted{type.shape[d], dimension_text(d, type.rank(), what), range};
    agree(t.shape[d], wanted, range, "in dimension " + std::to_string(d));
  }
}

}  // namespace tdsl::frontend
