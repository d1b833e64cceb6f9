#include "frontend/lower/state/shapes.h"

#include <algorithm>
#include <limits>

#include "ir/eval/small_sums.h"
#include "runtime/size.h"

namespace tdsl::frontend {

void Shapes::agree(const Dim& a, const Dim& b, const SourceRange& range, const std::string& where,
                   const std::string& hint) {
  const auto order = compare(a.extent, b.extent);
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
  // The expression of a size, unless it is a number.
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

/// Key of a check: the texts of both sides, with the relation in the second.
std::pair<std::string, std::string> check_key(ir::Check::Relation relation, const Extent& left, const Extent& right) {
  const auto text = [](const Extent& e) { return e.to_string([](ValueId v) { return std::to_string(v.id) + "v"; }); };
  return {text(left), (relation == ir::Check::Relation::kEqual ? "= " : "<= ") + text(right)};
}

}  // namespace

bool Shapes::is_checked(ir::Check::Relation relation, const Extent& left, const Extent& right) const {
  const auto key = check_key(relation, left, right);
  for (std::size_t depth = 0; depth <= graph_.region_depth(); ++depth) {
    if (checked_.contains({depth, key.first, key.second})) return true;
  }
  return false;
}

void Shapes::check(ir::Check check, const SourceRange& range) {
  if (check.relation == ir::Check::Relation::kAtMost) {
    // A condition on index variables applies to single elements, not to the whole tensor.
    if (std::ranges::any_of(guards_.conditions(), [](const Expr& g) { return !labels_of(g).empty(); })) return;
    if (const Expr guard = guards_.all()) check.guard = values_.materialise(scalar_tensor(guard), "", range);
  }
  // Emitted before, in this region or an enclosing one.
  if (is_checked(check.relation, check.left, check.right)) return;
  if (!check.guard) {
    const auto [left, right] = check_key(check.relation, check.left, check.right);
    checked_.insert({graph_.region_depth(), left, right});
  }
  graph_.emit_effect(std::move(check), range);
}

void Shapes::require_size(const Extent& size, const std::string& what, const SourceRange& range) {
  require_not_negative(size, what, range);
  require_in_64_bits(size, what, range);
}

void Shapes::require_in_64_bits(const Extent& size, const std::string& what, const SourceRange& range) {
  if (size.constant() || size.as_value()) return;  // checked as part of the shape
  // Dimensions are sizes of inputs, far below 2^63; products of them may overflow.
  constexpr std::int64_t kFewTimes = 64;
  const bool fits = size.terms().size() < 8 && std::ranges::all_of(size.terms(), [this](const auto& term) {
                      return term.first.empty() ||
                             (term.first.size() == 1 && term.second > -kFewTimes && term.second < kFewTimes &&
                              term.first[0]->kind == Extent::Atom::Kind::kValue && is_size(term.first[0]->value));
                    });
  if (!fits)
    check({ir::Check::Relation::kAtMost,
           size,
           rt::kMostTensorBytes,
           what + " is {left}; a dimension has at most 2^53 elements",
           {}},
          range);
}

bool Shapes::may_be_negative(const Extent& size) const {
  // Dimensions, and sums and products of them, are nonnegative.
  return !std::ranges::all_of(size.terms(), [this](const auto& term) {
    return term.second >= 0 && std::ranges::all_of(term.first, [this](const Extent::AtomRef& atom) {
             return atom->kind == Extent::Atom::Kind::kValue && is_size(atom->value);
           });
  });
}

Extent Shapes::length_of(const Extent& size) {
  if (!may_be_negative(size) || is_checked(ir::Check::Relation::kAtMost, 0, size)) return size;
  if (const auto constant = size.constant()) return std::max<std::int64_t>(*constant, 0);
  return graph_.extent_of(ir::binary(ir::BinaryOp::kMax, expr_of(graph_.program(), size), ir::constant_i64(0)),
                          "length");
}

void Shapes::require_countable(const Extent& begin, const Extent& end, const std::string& name,
                               const SourceRange& range) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::string message = rt::uncountable_text(name);
  const auto first = begin.constant();
  const auto last = end.constant();
  if (first && last) {
    if (!rt::is_countable(*first, *last)) reports_.fail(DiagnosticId::kTooLarge, range, message);
    return;
  }
  // Sums of sizes and one other number do not overflow i64. Other ranges are checked when they become index variables.
  const Extent span = end - begin;
  int others = 0;
  for (const auto& [monomial, number] : span.terms()) {
    const bool of_sizes = std::ranges::all_of(monomial, [this](const Extent::AtomRef& atom) {
      return atom->kind == Extent::Atom::Kind::kValue && is_size(atom->value);
    });
    if (!of_sizes || !ir::is_small_number(number)) others += number == 1 || number == -1 ? 1 : 2;
  }
  constexpr std::size_t kTopLevel = 1;
  if (others < 2 || graph_.region_depth() > kTopLevel) return;
  check({ir::Check::Relation::kAtMost, span, kMost, message, {}}, range);
  check({ir::Check::Relation::kAtMost, begin - end, kMost, message, {}}, range);
}

void Shapes::require_not_negative(const Extent& size, const std::string& what, const SourceRange& range) {
  if (!may_be_negative(size)) return;
  const auto constant = size.constant();
  if (constant)
    reports_.fail(DiagnosticId::kBadDimension, range,
                  what + " is " + std::to_string(*constant) + "; a size cannot be negative");
  check({ir::Check::Relation::kAtMost, 0, size, what + " is {right}; a size cannot be negative", {}}, range);
}

Dim Shapes::broadcast(const Dim& a, const Dim& b, const SourceRange& range, const std::string& where,
                      const std::string& hint) {
  if (a.extent == b.extent) return a;
  if (a.extent.constant() == 1) return b;
  if (b.extent.constant() == 1) return a;
  agree(a, b, range, where, hint);
  return a;
}

void Shapes::require_shape(const Tensor& t, const ir::Type& type, const std::string& what, const SourceRange& range) {
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

ir::ExtentOrder Shapes::compare(const Extent& a, const Extent& b) const {
  return ir::compare(a, b, [this](ValueId v) { return dimension_values_.contains(v); });
}

Extent Shapes::new_dimension(const ast::Identifier& name) {
  const ValueId v = graph_.emit(ir::Dimension{name.name}, {Scalar::kI64, {}, {}}, name.name, name.range);
  dimension_values_.insert(v);
  return Extent::of(v);
}

Extent Shapes::found_extent(ValueId count, const Extent& estimate, const SourceRange& range) {
  const ValueId v = graph_.emit(ir::Found{count, estimate, {}}, {Scalar::kI64, {}, {}}, "?", range);
  found_.insert(v);
  return Extent::of(v);
}

bool Shapes::name_found(const Extent& extent, const ast::Identifier& name, bool in_program) {
  const auto v = extent.as_value();
  if (!v || !found_.contains(*v)) return false;
  ir::Found* found = in_program ? graph_.found(*v) : nullptr;
  if (found == nullptr || !found->name.empty()) return true;
  found->name = name.name;
  ir::ValueInfo& info = graph_.program().values[static_cast<std::size_t>(v->id)];
  info.name = name.name;
  info.range = name.range;
  dimension_values_.insert(*v);
  return true;
}

Shapes::InRegion::InRegion(Shapes& shapes, ir::Region& region) : shapes_(shapes) { shapes_.graph_.push_region(region); }

Shapes::InRegion::~InRegion() {
  shapes_.graph_.pop_region();
  // A check of the region may not have been executed elsewhere.
  std::erase_if(shapes_.checked_, [&](const auto& key) { return std::get<0>(key) > shapes_.graph_.region_depth(); });
}

}  // namespace tdsl::frontend
