#include "ir/analysis/update_order.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// Minimum and maximum of a subscript over all points.
struct Hull {
  Extent least;
  Extent most;
};

class Updates {
 public:
  explicit Updates(const Compute& c) : c_(c), own_(c.left) {
    if (!own_.empty()) return;
    for (std::size_t l = 0; l < c.out.size(); ++l) {
      const Expr label = index_ref(static_cast<std::int32_t>(l));
      own_.push_back(c.out[l].begin == Extent(0) ? label
                                                 : binary(BinaryOp::kSub, label, expr_of_polynomial(c.out[l].begin)));
    }
  }

  [[nodiscard]] UpdateOrder order() const {
    // A single point reads before it writes.
    if (c_.out.empty()) return UpdateOrder::kInPlace;
    const bool decides =
        disturbs(c_.guard) || std::ranges::any_of(c_.left, [this](const Expr& e) { return disturbs(e); });
    if (decides) return UpdateOrder::kCopied;
    const bool values = std::ranges::any_of(c_.bodies, [this](const Expr& e) { return disturbs(e); });
    if (!values) return UpdateOrder::kInPlace;
    return may_leave() ? UpdateOrder::kCopied : UpdateOrder::kStaged;
  }

 private:
  /// True if a point may write an element of the base that another point reads in the expression.
  [[nodiscard]] bool disturbs(const Expr& e) const {
    if (!e) return false;
    bool found = false;
    for_each_read(e, [&](const Read& r) {
      if (r.tensor == *c_.base) found = found || !(is_own(r.subscripts) || is_apart(r.subscripts));
    });
    return found;
  }

  /// True if a point may be without a value.
  [[nodiscard]] bool may_leave() const {
    return mentions_labels(c_.guard, c_.out.size()) || (c_.monoid && c_.monoid->kind == Monoid::Kind::kUser);
  }

  /// True if the element is written by this point and by no other.
  [[nodiscard]] bool is_own(const std::vector<Expr>& subscripts) const {
    return std::ranges::equal(subscripts, own_, [](const Expr& a, const Expr& b) { return equal(a, b); }) &&
           writes_once();
  }

  [[nodiscard]] bool writes_once() const {
    for (std::size_t l = 0; l < c_.out.size(); ++l) {
      const bool places = std::ranges::any_of(own_, [&](const Expr& e) {
        const auto p = polynomial_of(e);
        const auto form = p ? linear_in(*p, label_value(static_cast<std::int32_t>(l))) : std::nullopt;
        return form && form->coefficient != 0 && std::ranges::none_of(form->rest.values(), is_label);
      });
      if (!places) return false;
    }
    return true;
  }

  /// True if no point writes the element: some subscript is outside all written ones.
  [[nodiscard]] bool is_apart(const std::vector<Expr>& subscripts) const {
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const auto here = hull(subscripts[d]);
      const auto there = here ? hull(own_[d]) : std::nullopt;
      if (there && (is_less(here->most, there->least) || is_less(there->most, here->least))) return true;
    }
    return false;
  }

  static bool is_label(ValueId v) { return v.id <= label_value(0).id; }
  static bool is_less(const Extent& a, const Extent& b) {
    const auto distance = (b - a).constant();
    return distance && *distance > 0;
  }

  [[nodiscard]] std::optional<Hull> hull(const Expr& e) const {
    const auto p = polynomial_of(e);
    if (!p) return std::nullopt;
    Hull h{*p, *p};
    for (std::size_t l = 0; l < c_.out.size() + c_.reduce.size(); ++l) {
      const ValueId v = label_value(static_cast<std::int32_t>(l));
      const auto form = linear_in(*p, v);
      if (!form) return std::nullopt;
      if (form->coefficient == 0) continue;
      const Label& label = l < c_.out.size() ? c_.out[l] : c_.reduce[l - c_.out.size()];
      const Extent first = Extent(form->coefficient) * (label.begin - Extent::of(v));
      const Extent last = Extent(form->coefficient) * (label.end - Extent(1) - Extent::of(v));
      h.least = h.least + (form->coefficient > 0 ? first : last);
      h.most = h.most + (form->coefficient > 0 ? last : first);
    }
    return h;
  }

  const Compute& c_;
  std::vector<Expr> own_;  ///< the element that a point writes
};

}  // namespace

UpdateOrder update_order(const Compute& update) { return Updates(update).order(); }

}  // namespace tdsl::ir
