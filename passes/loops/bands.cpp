// Restricts a reduction that is nonzero only within a band along another index variable to that band: the reduce
// variable becomes the other variable plus a short range, so that loops, operand tiles and costs are those of the band.
// The band comes from the guard, or from a condition that holds wherever the body is not 0.
//
//     compute [i in 0..%0] sum[j in 0..%0] (absent_mul(select(le(abs(sub(i, j)), %b), %S[add(sub(i, j), %b), j], 0.0),
//     %x[j]))
// becomes
//     compute [i in 0..%0] sum[j in 0..2 %b + 1] (absent_mul(%S[2 %b - j, i + j - %b], %x[i + j - %b])) where le(%b -
//     i, j) && lt(j, %0 + %b - i)
//
// The order of points, and so of sums, is unchanged. Bounds of the new variable express the old range, and loops
// implement them as their limits. Does nothing unless the band is provably shorter than the range. A length that
// depends on params counts as short if a tensor that is read has that extent: otherwise `b` may be a number that means
// "no limit".

#include "passes/passes.h"

#include <algorithm>
#include <set>

#include "ir/analysis/support.h"
#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/extent_facts.h"
#include "ir/graph/inequalities.h"
#include "passes/rewriting.h"

namespace tdsl::passes {

using namespace ir;

namespace {

/// Largest constant band width; larger numbers may mean "no limit", and such bands would take longer than the full
/// range.
constexpr std::int64_t kFew = 1 << 16;

bool is_among(const std::vector<Expr>& all, const Expr& e) {
  return std::ranges::any_of(all, [&](const Expr& other) { return equal(other, e); });
}

/// `first <= label < first + length`, where `first` depends on other index variables.
struct Band {
  std::int32_t label = 0;
  AffineExpr first;
  Extent length;
  std::vector<Expr> said_by;
};

class Narrower {
 public:
  Narrower(const Program& program, const ExtentFacts& facts, Compute& c)
      : program_(program),
        conditions_([&facts](const Expr& e) { return facts.affine(e); }, Inequalities::Of::kOrder),
        compute_(c) {}

  /// Returns the number of narrowed reductions.
  int run() {
    if (!compute_.monoid || compute_.bodies.size() != 1 || locates(*compute_.monoid)) return 0;
    int narrowed = 0;
    for (std::optional<Band> band = find(); band; band = find()) {
      narrow(*band);
      ++narrowed;
    }
    return narrowed;
  }

 private:
  /// A side of a band: `label >= form` or `label <= form`.
  struct Side {
    AffineExpr form;
    Expr condition;
    bool certain = false;  ///< the condition can only express a band
  };

  [[nodiscard]] std::optional<Band> find() {
    const std::vector<Expr> given = conjuncts(compute_.guard);
    std::vector<Expr> parts = given;
    if (zero_contributes_nothing(compute_)) {
      const std::vector<Expr> implied = conditions_.around(compute_.bodies[0]);
      parts.insert(parts.end(), implied.begin(), implied.end());
    }
    const auto outs = static_cast<std::int32_t>(compute_.out.size());
    for (std::int32_t label = outs; label < outs + static_cast<std::int32_t>(compute_.reduce.size()); ++label) {
      if (done_.contains(label)) continue;
      std::vector<Side> low;
      std::vector<Side> high;
      for (std::size_t k = 0; k < parts.size(); ++k) add_sides(label, parts[k], k >= given.size(), low, high);
      if (auto band = shorter(label, low, high)) return band;
    }
    return std::nullopt;
  }

  void add_sides(std::int32_t label, const Expr& part, bool implied, std::vector<Side>& low,
                 std::vector<Side>& high) const {
    const std::vector<Inequality> said = conditions_.of(part);
    for (const Inequality& inequality : said) {
      const auto own = inequality.coefficients.find(label);
      if (own == inequality.coefficients.end() || (own->second != 1 && own->second != -1)) continue;
      const std::int64_t sign = own->second;
      AffineExpr form = inequality;
      form.coefficients.erase(label);
      if (form.coefficients.empty()) continue;
      (sign == 1 ? high : low).push_back({scaled(std::move(form), -sign), part, implied || said.size() > 1});
    }
  }

  [[nodiscard]] std::optional<Band> shorter(std::int32_t label, const std::vector<Side>& low,
                                            const std::vector<Side>& high) const {
    const Label& range = label_at(label);
    for (const Side& a : low) {
      for (const Side& b : high) {
        if (a.form.coefficients != b.form.coefficients) continue;
        Band band{label, a.form, b.form.offset - a.form.offset + Extent(1), {a.condition, b.condition}};
        // Ranges are known at start; a data-dependent band stays a condition.
        const std::vector<ValueId> sizes = band.length.values();
        if (std::ranges::all_of(sizes, [this](ValueId v) { return known_at_start(program_, v); }) &&
            is_shorter(band.length, range.end - range.begin, a.certain && b.certain))
          return band;
      }
    }
    return std::nullopt;
  }

  /// `certain`: the condition expresses a band; other conditions may be bounds checks of a shifted subscript.
  [[nodiscard]] bool is_shorter(const Extent& band, const Extent& range, bool certain) const {
    const auto few = band.constant();
    const auto all = range.constant();
    if (few || all) return few && *few > 0 && *few <= kFew && (!all || *few < *all);
    if (const auto more = (range - band).constant()) return *more > 0;
    const auto only_dimensions = [this](const Extent& e) {
      return std::ranges::all_of(e.values(), [this](ValueId v) { return dimensions_.contains(v); });
    };
    return (certain && is_stored_extent(band)) ||
           (only_dimensions(range) && !only_dimensions(band) && is_stored_extent(band));
  }
  /// True if a tensor that is read has an extent that differs from `e` by a constant: then `e` is as small as that
  /// extent, not a number that means "no limit".
  [[nodiscard]] bool is_stored_extent(const Extent& e) const {
    return any_read(compute_.bodies[0], [&](const Read& r) {
      return std::ranges::any_of(program_.type(r.tensor).shape,
                                 [&](const Extent& extent) { return (extent - e).constant().has_value(); });
    });
  }

  void narrow(const Band& band) {
    done_.insert(band.label);
    // Implied conditions become explicit; the body may rely on them.
    std::vector<Expr> known = conjuncts(compute_.guard);
    if (zero_contributes_nothing(compute_)) {
      for (const Expr& part : conditions_.around(compute_.bodies[0])) {
        if (!is_among(known, part)) known.push_back(part);
      }
    }
    compute_.bodies[0] = without(compute_.bodies[0], known);
    std::erase_if(known, [&](const Expr& part) {
      return is_among(band.said_by, part) && conditions_.of(part).size() <= sides_in(band, part);
    });
    const Label range = label_at(band.label);
    const Expr own = index_ref(band.label);
    const Expr first = expression(band.first);
    Expr guard =
        conjunction_of(binary(BinaryOp::kLe, expression(scaled(plus(band.first, Extent(0) - range.begin), -1)), own),
                       binary(BinaryOp::kLt, own, expression(plus(scaled(band.first, -1), range.end))));
    for (const Expr& part : known) guard = conjunction_of(guard, moved(part, band.label, index_sum(first, own)));
    compute_.guard = guard;
    compute_.bodies[0] = moved(compute_.bodies[0], band.label, index_sum(first, own));
    for (Expr& e : compute_.left) e = moved(e, band.label, index_sum(first, own));
    Label& label = compute_.reduce[static_cast<std::size_t>(band.label) - compute_.out.size()];
    label.begin = Extent(0);
    label.end = band.length;
  }

  static std::size_t sides_in(const Band& band, const Expr& part) {
    return static_cast<std::size_t>(std::ranges::count_if(band.said_by, [&](const Expr& e) { return equal(e, part); }));
  }

  /// `e` simplified under the assumption that all conditions in `known` hold.
  static Expr without(const Expr& e, const std::vector<Expr>& known) {
    return rewrite(e, [&](const Expr& part) {
      const auto* s = std::get_if<Select>(&part->op);
      if (s == nullptr) return part;
      Expr rest;
      for (const Expr& c : conjuncts(s->condition)) {
        if (!is_among(known, c)) rest = conjunction_of(rest, c);
      }
      return rest ? select(rest, s->when_true, s->when_false, part->range) : s->when_true;
    });
  }

  /// `e` with `value` substituted for the label, and subscripts normalised to polynomials.
  static Expr moved(const Expr& e, std::int32_t label, const Expr& value) {
    return rewrite(e, [&](const Expr& part) {
      if (bare_label(part) == label) return value;
      const auto* r = std::get_if<Read>(&part->op);
      if (r == nullptr || r->subscripts.empty()) return part;
      std::vector<Expr> subscripts = r->subscripts;
      for (Expr& s : subscripts) {
        if (const auto polynomial = subscript_polynomial(s); polynomial && mentions_labels(s))
          s = expr_of_polynomial(*polynomial);
      }
      return read(part->type, r->tensor, std::move(subscripts), part->range);
    });
  }

  [[nodiscard]] static Expr expression(const AffineExpr& a) {
    Extent polynomial = a.offset;
    for (const auto& [label, coefficient] : a.coefficients)
      polynomial = polynomial + Extent(coefficient) * Extent::of(label_value(label));
    return expr_of_polynomial(polynomial);
  }

  [[nodiscard]] const Label& label_at(std::int32_t label) const {
    return compute_.reduce[static_cast<std::size_t>(label) - compute_.out.size()];
  }

  const Program& program_;
  Inequalities conditions_;
  Compute& compute_;
  std::set<std::int32_t> done_;
  std::set<ValueId> dimensions_ = dimensions_of(program_);

  static std::set<ValueId> dimensions_of(const Program& program) {
    std::set<ValueId> found;
    for (const Node& n : program.body.nodes) {
      if (std::holds_alternative<Dimension>(n.op)) found.insert(n.results[0]);
    }
    return found;
  }
};

}  // namespace

Program bands(const Program& program, PassContext& context) {
  Program result = program;
  const ExtentFacts facts(program);
  for_each_compute(result.body, [&](const Node& node, Compute& c) {
    if (Narrower(program, facts, c).run() > 0)
      context.applied(node.range, "the reduction runs over the band where it counts");
  });
  return result;
}

}  // namespace tdsl::passes
