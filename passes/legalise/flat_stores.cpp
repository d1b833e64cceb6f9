// Replaces index variables that form a row-major position by one index variable over the positions:
//
//     %5 = compute [i in 0..%0, k in 0..%1] (%3[i, k]) left [add(mul(i, %1), k)] base %4
// becomes
//     %5 = compute [i in 0..mul(%0, %1)] (%3[div(i, %1), rem(i, %1)]) left [i] base %4
//
// Such a subscript cannot be solved for one variable, but for all of them together: every element has exactly one
// point. Otherwise it would be a scatter, in which every task visits every point.

#include "passes/passes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/legalise/computes.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// The labels of a position, innermost first, with their strides.
struct Position {
  std::vector<std::size_t> labels;
  std::vector<Extent> strides;
  Extent count{1};  ///< number of positions
  Extent first;     ///< the subscript of position 0
};

/// The position that the form computes over `out`; nullopt unless the labels are dense in row-major order.
std::optional<Position> position_of(const Affine& form, const std::vector<Label>& out) {
  if (form.terms.size() < 2) return std::nullopt;
  Position p;
  p.first = form.constant;
  std::vector<Term> rest = form.terms;
  while (!rest.empty()) {
    const auto next = std::ranges::find_if(rest, [&](const Term& t) { return t.coefficient == p.count; });
    if (next == rest.end()) return std::nullopt;
    const auto label = static_cast<std::size_t>(next->label);
    if (label >= out.size() || !(out[label].begin == Extent(0))) return std::nullopt;
    p.labels.push_back(label);
    p.strides.push_back(p.count);
    p.count = p.count * out[label].end;
    rest.erase(next);
  }
  return p;
}

class FlatStore {
 public:
  FlatStore(Legalised& one, std::size_t dimension, const Position& position)
      : one_(one), c_(one.compute()), dimension_(dimension), position_(position), out_(c_.out) {}

  void replace_labels() {
    const std::vector<Expr> replacements = replacements_of_labels();
    const Expr own = index_ref(own_);
    for (Expr& body : c_.bodies) body = with_labels(body, replacements);
    c_.guard = with_labels(c_.guard, replacements);
    for (std::size_t d = 0; d < c_.left.size(); ++d) {
      if (d != dimension_) c_.left[d] = with_labels(c_.left[d], replacements);
    }
    keep_empty_ranges_empty();
    const SourceRange range = c_.left[dimension_]->range;
    c_.left[dimension_] = position_.first == Extent(0)
                              ? index_ref(own_, range)
                              : binary(BinaryOp::kAdd, own, one_.expression(position_.first), range);
    c_.out = kept_;
  }

 private:
  /// The position replaces its outermost label; its other labels are removed.
  std::vector<Expr> replacements_of_labels() {
    const std::size_t outermost = position_.labels.back();
    std::vector<Expr> replacements;
    for (std::size_t l = 0; l < out_.size() + c_.reduce.size(); ++l) {
      const bool counts = std::ranges::find(position_.labels, l) != position_.labels.end();
      const auto number = static_cast<std::int32_t>(l < out_.size() ? kept_.size() : l - out_.size() + kept_.size());
      replacements.push_back(index_ref(number));
      if (l >= out_.size()) continue;
      if (!counts || l == outermost) kept_.push_back(out_[l]);
      if (l == outermost) {
        own_ = number;
        kept_.back().end = position_.count;
      }
    }
    for (std::size_t k = 0; k < position_.labels.size(); ++k) {
      const std::size_t label = position_.labels[k];
      Expr at = index_ref(own_);
      if (k > 0) at = binary(BinaryOp::kDiv, at, one_.size(position_.strides[k]));
      if (label != outermost) at = binary(BinaryOp::kRem, at, one_.size(out_[label].end));
      replacements[label] = at;
    }
    return replacements;
  }

  /// Two ranges with negative ends are empty, but the product of their ends is positive.
  void keep_empty_ranges_empty() {
    for (std::size_t k = 0; k + 1 < position_.labels.size(); ++k) {
      const Extent& end = out_[position_.labels[k]].end;
      if (!is_size(end)) c_.guard = conjunction_of(binary(BinaryOp::kLt, constant_i64(0), one_.size(end)), c_.guard);
    }
  }

  /// True if the extent is provably nonnegative: a number, or an extent of a tensor that is read or written.
  [[nodiscard]] bool is_size(const Extent& e) {
    if (e.constant()) return *e.constant() >= 0;
    const auto of = [&](const Type& t) { return std::ranges::find(t.shape, e) != t.shape.end(); };
    bool found = of(one_.type());
    for_each_read(c_, [&](const Read& r) { found = found || of(one_.program().type(r.tensor)); });
    return found;
  }

  Legalised& one_;
  Compute& c_;
  std::size_t dimension_;
  const Position& position_;
  std::vector<Label> out_;
  std::vector<Label> kept_;
  std::int32_t own_ = 0;
};

bool flatten(Legalised& one, std::size_t dimension) {
  const Compute& c = one.compute();
  const auto form = one.affine(c.left[dimension]);
  const auto position = form ? position_of(*form, c.out) : std::nullopt;
  if (!position) return false;
  for (std::size_t d = 0; d < c.left.size(); ++d) {
    const auto mentions = [&](std::size_t label) {
      return mentions_label(c.left[d], static_cast<std::int32_t>(label));
    };
    if (d != dimension && std::ranges::any_of(position->labels, mentions)) return false;
  }
  FlatStore(one, dimension, *position).replace_labels();
  return true;
}

}  // namespace

Program flat_stores(const Program& program, PassContext& context) {
  return legalised(program, context, [&](Legalised& one) {
    if (one.assembles()) return;
    bool any = false;
    for (std::size_t d = 0; d < one.compute().left.size(); ++d) any = flatten(one, d) || any;
    if (any) context.applied(one.node().range, "index variables that count a position together become one");
  });
}

}  // namespace tdsl::passes
