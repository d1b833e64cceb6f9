#include "passes/loops/aligned_labels.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

class LabelAligner {
 public:
  LabelAligner(Compute& c, const std::function<bool(ValueId)>& varies) : c_(c), varies_(varies) {}

  void run() {
    const std::size_t count = c_.monoid && locates(*c_.monoid) ? c_.out.size() : c_.out.size() + c_.reduce.size();
    for (std::size_t l = 0; l < count; ++l) align(static_cast<std::int32_t>(l));
  }

 private:
  [[nodiscard]] bool is_fixed(const Extent& e) const { return std::ranges::none_of(e.values(), varies_); }

  void align(std::int32_t label) {
    Label& l = label_of(c_, label);
    if (is_fixed(l.end - l.begin)) return;
    const std::vector<Extent> offsets = offsets_of(label);
    const auto fixed = [&](const Extent& start) {
      return std::ranges::count_if(offsets, [&](const Extent& o) { return is_fixed(o - start); });
    };
    auto most = fixed(Extent(0));
    std::optional<Extent> best;
    for (const Extent& o : offsets) {
      if (fixed(o) <= most || !is_start(o, l)) continue;
      most = fixed(o);
      best = o;
    }
    if (!best) return;
    l.begin = l.begin + *best;
    l.end = l.end + *best;
    rewrite_expressions(c_, [&](const Expr& e) { return settled(shifted(e, label, *best), label); });
  }

  /// True if a range may start there: neither data nor a variable of the iteration determines it.
  [[nodiscard]] bool is_start(const Extent& e, const Label& l) const {
    return std::ranges::all_of(e.values(),
                               [&](ValueId v) { return varies_(v) || mentions(l.begin, v) || mentions(l.end, v); });
  }

  /// The rest of each subscript `label + rest`.
  [[nodiscard]] std::vector<Extent> offsets_of(std::int32_t label) const {
    std::vector<Extent> offsets;
    const auto note = [&](const Expr& subscript) {
      const auto p = polynomial_of(subscript);
      const auto form = p && mentions(*p, label_value(label)) ? linear_in(*p, label_value(label)) : std::nullopt;
      const auto is_label = [](ValueId v) { return v.id <= label_value(0).id; };
      if (form && form->coefficient == 1 && std::ranges::none_of(form->rest.values(), is_label))
        offsets.push_back(form->rest);
    };
    for (const Expr& e : c_.left) note(e);
    for_each_read(c_, [&](const Read& r) { std::ranges::for_each(r.subscripts, note); });
    return offsets;
  }

  static Expr shifted(const Expr& e, std::int32_t label, const Extent& by) {
    return rewrite(e, [&](const Expr& x) {
      if (!is_label(x, label)) return x;
      return binary(BinaryOp::kSub, x, expr_of_polynomial(by));
    });
  }

  /// With the terms of subscripts that use the label collected; `e` is an expression or a subscript.
  static Expr settled(const Expr& e, std::int32_t label) {
    const auto collected = [&](const Expr& subscript) {
      const auto p = mentions_label(subscript, label) ? polynomial_of(subscript) : std::nullopt;
      return p ? expr_of_polynomial(*p) : subscript;
    };
    const Expr inside = rewrite(e, [&](const Expr& x) {
      const auto* r = std::get_if<Read>(&x->op);
      if (r == nullptr || r->subscripts.empty()) return x;
      std::vector<Expr> subscripts;
      for (const Expr& s : r->subscripts) subscripts.push_back(collected(s));
      return read(x->type, r->tensor, std::move(subscripts), x->range);
    });
    return collected(inside);
  }

  Compute& c_;
  const std::function<bool(ValueId)>& varies_;
};

}  // namespace

void align_labels(Compute& c, const std::function<bool(ValueId)>& varies) { LabelAligner(c, varies).run(); }

}  // namespace tdsl::passes
