#include "passes/algebra/element_reads.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "ir/graph/affine.h"
#include "ir/graph/computes.h"
#include "ir/graph/expr_build.h"

namespace tdsl::passes {

using namespace ir;

namespace {

bool is_unit(const Label& l) { return l.end - l.begin == Extent(1); }

/// True if the subscript is the row-major position of its index variables, each starting at 0, plus a constant; adds
/// them to `seen`.
bool is_position(const Expr& subscript, const std::vector<Label>& labels, std::set<std::int32_t>& seen) {
  const auto polynomial = subscript_polynomial(subscript);
  if (!polynomial) return false;
  std::vector<std::pair<std::int32_t, Extent>> steps;  // per index variable
  Extent rest = *polynomial;
  for (std::size_t l = 0; l < labels.size(); ++l) {
    const ValueId here = label_value(static_cast<std::int32_t>(l));
    if (!mentions(rest, here)) continue;
    const Extent without =
        rest.substitute([&](ValueId v) { return v == here ? std::optional(Extent(0)) : std::nullopt; });
    const Extent step =
        (rest - without).substitute([&](ValueId v) { return v == here ? std::optional(Extent(1)) : std::nullopt; });
    if (!(rest - without == step * Extent::of(here)) || !seen.insert(static_cast<std::int32_t>(l)).second ||
        !(labels[l].begin == Extent(0)))
      return false;
    steps.emplace_back(static_cast<std::int32_t>(l), step);
    rest = without;
  }
  Extent next = 1;
  while (!steps.empty()) {
    const auto found = std::ranges::find_if(steps, [&](const auto& s) { return s.second == next; });
    if (found == steps.end()) return false;
    next = next * labels[static_cast<std::size_t>(found->first)].end;
    steps.erase(found);
  }
  return true;
}

/// True if every subscript is the position of index variables of its own.
bool are_positions(const Read& r, const std::vector<Label>& labels) {
  std::set<std::int32_t> seen;
  return std::ranges::all_of(r.subscripts, [&](const Expr& s) {
    const std::int32_t label = bare_label(s);
    return label >= 0 ? seen.insert(label).second : is_position(s, labels, seen);
  });
}

constexpr std::int64_t kPrime = 2147483647;

std::int64_t inverse(std::int64_t x) {
  std::int64_t result = 1;
  for (std::int64_t power = kPrime - 2; power > 0; power /= 2) {
    if (power % 2 == 1) result = result * x % kPrime;
    x = x * x % kPrime;
  }
  return result;
}

/// The rank of an integer matrix modulo a prime, a lower bound of its rank. Its rows have the same length.
std::size_t rank_of(std::vector<std::vector<std::int64_t>> rows) {
  for (auto& row : rows) {
    for (std::int64_t& x : row) x = (x % kPrime + kPrime) % kPrime;
  }
  std::size_t rank = 0;
  for (std::size_t column = 0; !rows.empty() && column < rows[0].size() && rank < rows.size(); ++column) {
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(rank), rows.end(),
                                    [&](const auto& row) { return row[column] != 0; });
    if (pivot == rows.end()) continue;
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(rank), pivot);
    const std::int64_t by = inverse(rows[rank][column]);
    for (std::size_t r = rank + 1; r < rows.size(); ++r) {
      const std::int64_t times = rows[r][column] * by % kPrime;
      for (std::size_t k = column; k < rows[r].size(); ++k)
        rows[r][k] = (rows[r][k] + (kPrime - times) * rows[rank][k]) % kPrime;
    }
    ++rank;
  }
  return rank;
}

/// The coefficients of the labels; nothing unless the polynomial is linear in them with constant coefficients.
std::optional<std::vector<std::int64_t>> coefficients_of(const Extent& polynomial, std::size_t labels) {
  std::vector<std::int64_t> coefficients;
  for (std::size_t l = 0; l < labels; ++l) {
    const auto form = linear_in(polynomial, label_value(static_cast<std::int32_t>(l)));
    if (!form) return std::nullopt;
    coefficients.push_back(form->coefficient);
  }
  return coefficients;
}

/// True if different values of these labels give different subscripts: the map from labels to subscripts is linear and
/// of full rank.
bool is_injective(const std::vector<Extent>& subscripts, std::size_t count, LabelSet labels) {
  std::vector<std::vector<std::int64_t>> rows;
  std::size_t wanted = 0;
  for (std::size_t l = 0; l < count; ++l) wanted += labels >> l & 1;
  for (const Extent& s : subscripts) {
    const auto all = coefficients_of(s, count);
    if (!all) return false;
    std::vector<std::int64_t> row;
    for (std::size_t l = 0; l < count; ++l) {
      if ((labels >> l & 1) != 0) row.push_back((*all)[l]);
    }
    rows.push_back(std::move(row));
  }
  return wanted == 0 || rank_of(std::move(rows)) == wanted;
}

/// True if no term with an index variable has a negative coefficient.
bool is_ascending(const Extent& polynomial) {
  return std::ranges::all_of(polynomial.terms(), [](const auto& term) {
    return term.second >= 0 || std::ranges::none_of(term.first, [](const Extent::AtomRef& a) {
             return a->kind == Extent::Atom::Kind::kValue && a->value.id <= label_value(0).id;
           });
  });
}

bool is_whole(const ExtentFacts& facts, const Type& type, const Read& r, const std::vector<Label>& labels) {
  LabelSet seen = 0;
  for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
    const std::int32_t label = bare_label(r.subscripts[d]);
    if (label < 0 || (seen >> label & 1) != 0) return false;
    seen |= LabelSet{1} << label;
    const Label& l = labels[static_cast<std::size_t>(label)];
    if (!(l.begin == Extent(0)) || !facts.same(l.end, type.shape[d])) return false;
  }
  return true;
}

/// Calls `f(read, certain)` for every read outside of subscripts; false if `v` is read in a subscript.
template <class F>
bool visit_reads(const Expr& e, ValueId v, bool certain, const F& f) {
  if (const auto* r = std::get_if<Read>(&e->op)) {
    const bool inside = std::ranges::any_of(r->subscripts, [&](const Expr& s) {
      return any_read(s, [&](const Read& inner) { return inner.tensor == v; });
    });
    if (r->tensor == v) f(e, certain);
    return !inside;
  }
  const auto* s = std::get_if<Select>(&e->op);
  const auto* b = std::get_if<Binary>(&e->op);
  const bool first_only = s != nullptr || (b != nullptr && (b->op == BinaryOp::kAnd || b->op == BinaryOp::kOr));
  bool first = true;
  for (const Expr& child : children(*e)) {
    if (!visit_reads(child, v, certain && (first || !first_only), f)) return false;
    first = false;
  }
  return true;
}

}  // namespace

LabelSet running_labels(const Compute& c) {
  LabelSet labels = 0;
  for (std::size_t l = 0; l < c.out.size() + c.reduce.size() && l < 64; ++l) {
    if (!is_unit(label_of(c, static_cast<std::int32_t>(l)))) labels |= LabelSet{1} << l;
  }
  return labels;
}

std::optional<Extent> points_of(const Compute& c, LabelSet labels) {
  std::optional<Extent> points = Extent(1);
  for (std::size_t l = 0; l < c.out.size() + c.reduce.size() && points; ++l) {
    const Label& label = label_of(c, static_cast<std::int32_t>(l));
    if ((labels >> l & 1) != 0) points = product_if_small(*points, label.end - label.begin);
  }
  return points;
}

std::optional<SubscriptRange> subscript_range(const Compute& c, const Expr& subscript) {
  const auto polynomial = subscript_polynomial(subscript);
  const std::size_t count = c.out.size() + c.reduce.size();
  const auto coefficients = polynomial ? coefficients_of(*polynomial, count) : std::nullopt;
  if (!coefficients) return std::nullopt;
  SubscriptRange range{*polynomial, *polynomial};
  for (std::size_t l = 0; l < count; ++l) {
    const std::int64_t coefficient = (*coefficients)[l];
    const Label& label = label_of(c, static_cast<std::int32_t>(l));
    const Extent here = Extent(coefficient) * Extent::of(label_value(static_cast<std::int32_t>(l)));
    const Extent first = Extent(coefficient) * label.begin;
    const Extent last = Extent(coefficient) * (label.end - Extent(1));
    range.least = range.least - here + (coefficient >= 0 ? first : last);
    range.most = range.most - here + (coefficient >= 0 ? last : first);
  }
  return range;
}

std::optional<std::vector<ElementRead>> element_reads(const Program& program, const ExtentFacts& facts,
                                                      const Compute& c, ValueId v) {
  const std::vector<Label> labels = all_labels(c);
  if (labels.size() > 63) return std::nullopt;
  for (const Expr& left : c.left) {
    if (any_read(left, [&](const Read& r) { return r.tensor == v; })) return std::nullopt;
  }
  std::vector<ElementRead> found;
  const auto add = [&](const Expr& e, bool certain) {
    const auto known = std::ranges::find_if(found, [&](const ElementRead& r) { return equal(r.element, e); });
    if (known == found.end()) {
      ElementRead& added = found.emplace_back();
      added.element = e;
      added.certain = certain;
    } else {
      known->certain = known->certain || certain;
    }
  };
  bool plain = !c.guard || visit_reads(c.guard, v, true, add);
  for (const Expr& body : c.bodies) plain = plain && visit_reads(body, v, !c.guard, add);
  if (!plain) return std::nullopt;
  for (ElementRead& r : found) {
    const Read& element = std::get<Read>(r.element->op);
    std::vector<Extent> subscripts;
    r.ascending = true;
    for (const Expr& s : element.subscripts) {
      const auto polynomial = subscript_polynomial(s);
      if (!polynomial) return std::nullopt;
      r.ascending = r.ascending && is_ascending(*polynomial);
      subscripts.push_back(*polynomial);
    }
    r.labels = label_set(r.element) & running_labels(c);
    const auto points = points_of(c, r.labels);
    if (!points) return std::nullopt;
    r.points = *points;
    r.whole = is_whole(facts, program.type(v), element, labels);
    r.each_once = are_positions(element, labels) || is_injective(subscripts, labels.size(), r.labels);
  }
  return found;
}

}  // namespace tdsl::passes
