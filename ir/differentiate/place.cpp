#include "ir/differentiate/place.h"

#include <algorithm>

#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::ir {

namespace {

/// Determines the label that each dimension fixes, and the resulting placement.
class Placer {
 public:
  Placer(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor,
         const std::vector<Label>& labels, bool is_protected, bool over_all)
      : facts_(facts),
        subscripts_(subscripts),
        tensor_(tensor),
        labels_(labels),
        is_protected_(is_protected),
        over_all_(over_all),
        pivots_(subscripts.size(), -1),
        taken_(labels.size(), false) {}

  Placement run() {
    if (auto inverse = unflattened(facts_, subscripts_, tensor_, labels_)) return std::move(*inverse);
    if (!read_subscripts() || !choose_pivots() || (is_protected_ && writes_anywhere())) return scatter();
    number_labels();
    for (std::size_t d = 0; d < subscripts_.size(); ++d) single_label(d);
    for (std::size_t d = 0; d < subscripts_.size(); ++d) several_labels(d);
    for (std::size_t d = 0; d < subscripts_.size(); ++d) repeated_label(d);
    if (!partial_) result_.left.clear();
    return std::move(result_);
  }

 private:
  /// Every point adds into the element it read.
  Placement scatter() const {
    Placement p;
    p.out = labels_;
    p.left = subscripts_;
    p.labels = plain_subscripts(labels_.size());
    p.combines = true;
    return p;
  }

  bool read_subscripts() {
    for (const Expr& s : subscripts_) {
      auto form = facts_.affine(s);
      // A non-polynomial number can still select a row.
      if (!form && !mentions_labels(s)) form = AffineExpr{};
      const bool ring = !form;
      if (ring) form = on_ring(s, forms_.size());
      if (!form) return false;
      forms_.push_back(std::move(*form));
      rings_.push_back(ring);
    }
    for (std::size_t d = 0; d < forms_.size(); ++d) {
      if (rings_[d] && elsewhere(forms_[d].coefficients.begin()->first, d)) return false;
    }
    return true;
  }

  /// `a` in `mod(a, n)` if n is the dimension's extent and a is ± one label that covers the period once.
  [[nodiscard]] std::optional<AffineExpr> on_ring(const Expr& subscript, std::size_t d) const {
    const auto* b = std::get_if<Binary>(&subscript->op);
    if (b == nullptr || (b->op != BinaryOp::kMod && b->op != BinaryOp::kRem)) return std::nullopt;
    const auto size = facts_.affine(b->right);
    auto form = facts_.affine(b->left);
    if (!size || !size->coefficients.empty() || !facts_.same(size->offset, tensor_.shape[d])) return std::nullopt;
    if (!form || form->coefficients.size() != 1) return std::nullopt;
    const auto [label, coefficient] = *form->coefficients.begin();
    const Label& l = labels_[static_cast<std::size_t>(label)];
    const bool once = l.begin == Extent() && facts_.same(l.end, tensor_.shape[d]);
    return once && (coefficient == 1 || coefficient == -1) ? form : std::nullopt;
  }

  [[nodiscard]] bool elsewhere(std::int32_t label, std::size_t dimension) const {
    for (std::size_t d = 0; d < forms_.size(); ++d) {
      if (d != dimension && forms_[d].coefficients.contains(label)) return true;
    }
    return false;
  }

  bool choose_pivots() {
    for (std::size_t d = 0; d < forms_.size(); ++d) {
      if (forms_[d].coefficients.size() != 1) continue;
      const auto [label, coefficient] = *forms_[d].coefficients.begin();
      const bool unit = coefficient == 1 || coefficient == -1;
      if (!unit && elsewhere(label, d)) return false;
      if (!taken_[static_cast<std::size_t>(label)]) take(d, label);
    }
    for (std::size_t d = 0; d < forms_.size(); ++d) {
      if (forms_[d].coefficients.size() < 2) continue;
      std::int32_t best = -1;
      for (const auto& [label, coefficient] : forms_[d].coefficients) {
        // With `3 * i + j` most elements would iterate over many points that do not read them.
        if (coefficient != 1 && coefficient != -1) return false;
        const bool free = !taken_[static_cast<std::size_t>(label)] && !elsewhere(label, d);
        if (free && (best < 0 || is_longer(label, best))) best = label;
      }
      if (best < 0) return false;
      take(d, best);
    }
    return true;
  }

  /// True if a store subscript would not be a new label, and might be out of bounds where the read is not evaluated.
  [[nodiscard]] bool writes_anywhere() const {
    return std::ranges::any_of(forms_, [](const AffineExpr& form) {
      if (form.coefficients.size() != 1) return form.coefficients.empty();
      const std::int64_t a = form.coefficients.begin()->second;
      return a != 1 && a != -1;
    });
  }

  void take(std::size_t d, std::int32_t label) {
    pivots_[d] = label;
    taken_[static_cast<std::size_t>(label)] = true;
  }

  /// The range that is solved for is not summed over: it should be the longer one.
  [[nodiscard]] bool is_longer(std::int32_t a, std::int32_t b) const {
    const auto length = [this](std::int32_t l) {
      const Label& label = labels_[static_cast<std::size_t>(l)];
      return (label.end - label.begin).constant();
    };
    const auto of_a = length(a);
    const auto of_b = length(b);
    if (of_a && of_b) return *of_a > *of_b;
    return !of_a && of_b;
  }

  /// Numbers the new labels: one per dimension that has labels, then the summed ones.
  void number_labels() {
    result_.labels.resize(labels_.size());
    own_.resize(subscripts_.size());
    for (std::size_t d = 0; d < subscripts_.size(); ++d) {
      result_.left.push_back(subscripts_[d]);
      if (forms_[d].coefficients.empty()) {
        partial_ = true;
        continue;
      }
      own_[d] = index_ref(static_cast<std::int32_t>(result_.out.size()));
      result_.left[d] = own_[d];
      const std::string name = pivots_[d] >= 0 ? label(d).name : "i";
      result_.out.push_back({unused(name), Extent(), tensor_.shape[d]});
    }
    for (std::size_t l = 0; l < labels_.size(); ++l) {
      if (taken_[l]) continue;
      result_.labels[l] = index_ref(static_cast<std::int32_t>(result_.out.size() + result_.reduce.size()));
      result_.reduce.push_back(labels_[l]);
    }
  }

  /// A name that no other new label has.
  [[nodiscard]] std::string unused(std::string name) const {
    const auto taken = [&] {
      const auto same = [&](const Label& l) { return l.name == name; };
      if (std::ranges::any_of(result_.out, same)) return true;
      for (std::size_t l = 0; l < labels_.size(); ++l) {
        if (!taken_[l] && labels_[l].name == name) return true;
      }
      return false;
    };
    while (taken()) name += "1";
    return name;
  }

  [[nodiscard]] const Label& label(std::size_t d) const { return labels_[static_cast<std::size_t>(pivots_[d])]; }
  [[nodiscard]] Label& out_label(std::size_t d) {
    return result_.out[static_cast<std::size_t>(std::get<IndexRef>(own_[d]->op).label)];
  }
  void require(const Expr& condition) { result_.guard = conjunction_of(result_.guard, condition); }

  /// `a * l + c`: the element t is read at l = t - c or c - t. With another `a`, l stays the label.
  void single_label(std::size_t d) {
    if (forms_[d].coefficients.size() != 1 || pivots_[d] < 0) return;
    const std::int64_t a = forms_[d].coefficients.begin()->second;
    const Extent& c = forms_[d].offset;
    const Label& l = label(d);
    Expr& point = result_.labels[static_cast<std::size_t>(pivots_[d])];
    if (a != 1 && a != -1) {
      partial_ = true;
      out_label(d).begin = l.begin;
      out_label(d).end = l.end;
      point = own_[d];
      result_.left[d] = index_sum(index_product(a, own_[d]), expr_of(c));
      return;
    }
    const bool rising = a == 1;
    if (rings_[d]) {
      const Expr distance = index_difference(own_[d], expr_of(c));
      point = binary(BinaryOp::kMod, index_product(a, distance), expr_of(tensor_.shape[d]));
      return;
    }
    point = rising ? index_difference(own_[d], expr_of(c)) : index_difference(expr_of(c), own_[d]);
    const Extent least = rising ? l.begin + c : c - l.end + Extent(1);
    const Extent end = rising ? l.end + c : c - l.begin + Extent(1);
    limit_below(d, least);
    limit_above(d, end);
  }

  void limit_below(std::size_t d, const Extent& least) {
    if (least == Extent() || (is_protected_ && facts_.never_negative(Extent() - least))) return;
    if (over_all_ || (is_protected_ && !facts_.never_negative(least))) {
      require(binary(BinaryOp::kGe, own_[d], expr_of(least)));
      return;
    }
    out_label(d).begin = least;
    partial_ = true;
  }

  void limit_above(std::size_t d, const Extent& end) {
    const Extent& extent = tensor_.shape[d];
    if (facts_.same(end, extent) || (is_protected_ && facts_.never_negative(end - extent))) return;
    if (over_all_ || (is_protected_ && !facts_.never_negative(extent - end))) {
      require(binary(BinaryOp::kLt, own_[d], expr_of(end)));
      return;
    }
    out_label(d).end = end;
    partial_ = true;
  }

  /// `i + k`: i = t - k, within i's range.
  void several_labels(std::size_t d) {
    if (forms_[d].coefficients.size() < 2) return;
    const std::int64_t a = forms_[d].coefficients.at(pivots_[d]);
    Expr rest = index_difference(own_[d], expr_of(forms_[d].offset));
    for (const auto& [other, coefficient] : forms_[d].coefficients) {
      if (other != pivots_[d])
        rest = index_difference(rest, index_product(coefficient, result_.labels[static_cast<std::size_t>(other)]));
    }
    const Expr point = index_product(a, rest);
    result_.labels[static_cast<std::size_t>(pivots_[d])] = point;
    require(binary(BinaryOp::kGe, point, expr_of(label(d).begin)));
    require(binary(BinaryOp::kLt, point, expr_of(label(d).end)));
  }

  /// `A[i, i]`: the second subscript must equal the value fixed by the first.
  void repeated_label(std::size_t d) {
    if (forms_[d].coefficients.empty() || pivots_[d] >= 0) return;
    require(binary(BinaryOp::kEq, own_[d], with_labels(subscripts_[d], result_.labels)));
  }

  const ExtentFacts& facts_;
  const std::vector<Expr>& subscripts_;
  const Type& tensor_;
  const std::vector<Label>& labels_;
  bool is_protected_;
  bool over_all_;
  std::vector<AffineExpr> forms_;
  std::vector<bool> rings_;           ///< per dimension: the subscript is its form modulo the extent
  std::vector<std::int32_t> pivots_;  ///< per dimension: the label it determines, or -1
  std::vector<bool> taken_;           ///< per label: true if some dimension determines it
  std::vector<Expr> own_;             ///< per dimension: its new label, or null
  Placement result_;
  bool partial_ = false;
};

}  // namespace

Placement place(const ExtentFacts& facts, const std::vector<Expr>& subscripts, const Type& tensor,
                const std::vector<Label>& labels, bool is_protected, bool over_all) {
  return Placer(facts, subscripts, tensor, labels, is_protected, over_all).run();
}

}  // namespace tdsl::ir
