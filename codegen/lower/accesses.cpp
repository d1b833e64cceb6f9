#include "codegen/lower/accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/lower/premises.h"
#include "codegen/operations/describe.h"
#include "ir/analysis/boundary.h"
#include "ir/graph/affine.h"
#include "ir/graph/expr_build.h"
#include "runtime/plan/factorise.h"
#include "runtime/size.h"

namespace tdsl::codegen {

namespace {

/// Reads with a larger distance are fetched separately.
constexpr plan::Index kNeighbourhood = 64;

bool same_terms(const SymbolicDim& a, const SymbolicDim& b) {
  return a.whole == b.whole && a.terms == b.terms && a.divisor == b.divisor;
}

/// Extends `into` to cover `other` too if all offsets are close together; with `exactly` only if they are equal.
bool merge(SymbolicAccess& into, const SymbolicAccess& other, bool exactly) {
  if (into.tensor != other.tensor || into.dims.size() != other.dims.size()) return false;
  std::vector<SymbolicDim> merged = into.dims;
  for (std::size_t d = 0; d < merged.size(); ++d) {
    const SymbolicDim& o = other.dims[d];
    SymbolicDim& m = merged[d];
    if (!same_terms(m, o)) return false;
    if (m.whole) continue;
    const auto below = (o.offset.lo - m.offset.lo).constant();
    const auto above = (o.offset.hi - m.offset.hi).constant();
    if (!below || !above || (exactly && (*below != 0 || *above != 0))) return false;
    if (*below < 0) m.offset.lo = o.offset.lo;
    if (*above > 0) m.offset.hi = o.offset.hi;
    if (*(m.offset.hi - m.offset.lo).constant() > kNeighbourhood) return false;
  }
  into.dims = std::move(merged);
  return true;
}

class AccessFinder {
 public:
  AccessFinder(ProgramBuilder& builder, RecordedOp& op, ComputeKernel& kernel, SourceRange range)
      : builder_(builder), op_(op), kernel_(kernel), range_(range), labels_(indices_of(op)), premises_(builder, op) {
    for (const ir::Label& l : labels_) names_.push_back(l.name);
  }

  void run(bool separate) {
    const ir::Compute& c = kernel_.compute;
    if (c.guard) {
      visit(c.guard, false);
      premises_.assume(c.guard, true);
    }
    for (const Expr& body : c.bodies) visit(body, static_cast<bool>(c.guard));
    for (std::size_t d = 0; d < kernel_.scattered.size(); ++d) {
      if (kernel_.scattered[d]) visit(c.left[d], static_cast<bool>(c.guard));
    }
    kernel_.turns = premises_.turns();
    // An identical access is preferred to a neighbouring one.
    for (const auto& [node, access] : found_) {
      const bool placed = !separate && place(node, access);
      if (placed) continue;
      kernel_.operand[node] = static_cast<int>(op_.reads.size());
      op_.reads.push_back(access);
    }
  }

 private:
  bool place(const ir::ExprNode* node, const SymbolicAccess& access) {
    for (const bool exactly : {true, false}) {
      for (std::size_t k = 0; k < op_.reads.size(); ++k) {
        if (!merge(op_.reads[k], access, exactly)) continue;
        kernel_.operand[node] = static_cast<int>(k);
        return true;
      }
    }
    return false;
  }

  /// `guarded`: evaluated only if a condition holds, so its subscripts cannot be checked in advance.
  void visit(const Expr& e, bool guarded) {
    if (const auto* s = std::get_if<ir::Select>(&e->op)) {
      visit(s->condition, guarded);
      const std::size_t known = premises_.size();
      premises_.assume(s->condition, true);
      visit(s->when_true, true);
      premises_.forget(known);
      premises_.assume(s->condition, false);
      visit(s->when_false, true);
      premises_.forget(known);
      return;
    }
    if (const auto* b = std::get_if<ir::Binary>(&e->op); b != nullptr && ir::is_logical(b->op)) {
      visit(b->left, guarded);
      const std::size_t known = premises_.size();
      premises_.assume(b->left, b->op == ir::BinaryOp::kAnd);
      visit(b->right, true);
      premises_.forget(known);
      return;
    }
    for (const Expr& child : ir::children(*e)) visit(child, guarded);
    if (const auto* r = std::get_if<ir::Read>(&e->op)) read(e, *r, guarded);
  }

  void read(const Expr& e, const ir::Read& r, bool guarded) {
    if (builder_.is_host(r.tensor)) return;
    const bool known = std::ranges::any_of(found_, [&](const auto& f) { return f.first == e.id(); });
    if (known) return check_again(e, r);
    SymbolicAccess access{r.tensor, {}};
    std::vector<std::optional<Extent>> checked(r.subscripts.size());
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const Extent extent = builder_.rewritten(builder_.type(r.tensor).shape[d], range_);
      const Expr& subscript = r.subscripts[d];
      const ir::Hoist hoist = [this](const Expr& x) { return builder_.hoist(x); };
      if (const auto gather = kernel_.gathers.find(e.id()); gather != kernel_.gathers.end() && gather->second[d] >= 0) {
        access.dims.push_back({{{gather->second[d], Extent(1)}}});
        continue;
      }
      if (const auto quotient = quotient_of(subscript, hoist)) {
        const AffineForm& n = quotient->numerator;
        access.dims.push_back({n.terms, {n.constant, n.constant + Extent(1)}, false, quotient->divisor});
        if (!ir::provably_inside(*quotient, labels_, extent)) checked[d] = extent;
        continue;
      }
      if (const auto boundary = ir::boundary_of(subscript, labels_, hoist)) {
        access.dims.push_back(near(*boundary));
        if (!are_inside(boundary->extent, extent)) checked[d] = extent;
        continue;
      }
      const auto form = ir::affine_of(subscript, hoist);
      if (!form) {
        access.dims.push_back(whole_dim());
        checked[d] = extent;
        if (ir::is_data_subscript(r, d, hoist)) report_gathered(e, r);
        continue;
      }
      access.dims.push_back({form->terms, {form->constant, form->constant + Extent(1)}});
      if (guarded) {
        if (ir::provably_inside(*form, labels_, extent) || is_certain(*form, extent)) continue;
        if (premises_.inside(*form, extent)) {
          kernel_.trusted.insert(e.id());
        } else {
          checked[d] = extent;
        }
      } else {
        check_affine(builder_, *form, labels_, extent, describe(builder_.program(), e, names_),
                     e->range.known() ? e->range : range_);
        certain_.emplace_back(*form, extent);
      }
    }
    if (std::ranges::any_of(checked, [](const auto& c) { return c.has_value(); }))
      kernel_.checked[e.id()] = std::move(checked);
    found_.emplace_back(e.id(), std::move(access));
  }

  /// True if an earlier read that is always evaluated has the same subscript of a dimension with this extent: it is
  /// checked for all points before the operation.
  [[nodiscard]] bool is_certain(const AffineForm& form, const Extent& extent) const {
    return std::ranges::find(certain_, std::pair(form, extent)) != certain_.end();
  }

  /// The positions and the images of those outside, which are near the ends of the dimension.
  SymbolicDim near(const ir::Boundary& b) {
    if (b.op == ir::BinaryOp::kAround) return around(b);
    const auto below = b.below.constant();
    const auto above = b.above.constant();
    if (!below || !above) return near_at_start(b);
    if (std::max(*below, *above) > ir::kMostDistance) return whole_dim();
    const Extent& c = b.position.constant;
    return {b.position.terms,
            {c - Extent(ir::farthest_image(b.op, *above)), c + Extent(ir::farthest_image(b.op, *below) + 1)}};
  }
  /// Positions x + n of an x below 0, and x - n of an x above: each is its own image, unless the dimension is shorter
  /// than the distance of x. Then the image lies within that distance on the other side.
  SymbolicDim around(const ir::Boundary& b) {
    const Extent& c = b.position.constant;
    const auto low_end = (b.extent + b.below).constant();
    if (low_end && premises_.below(b.position, b.extent))
      return {b.position.terms, {c, c + Extent(std::max<std::int64_t>(*low_end, 1))}};
    const auto high_end = (b.extent + b.above).constant();
    if (high_end && premises_.never_negative(b.position))
      return {b.position.terms, {c - Extent(std::max<std::int64_t>(*high_end - 1, 0)), c + Extent(1)}};
    return whole_dim();
  }
  /// Boundaries at distances that are known when the program starts; the whole dimension for very large ones.
  SymbolicDim near_at_start(const ir::Boundary& b) {
    using enum ir::BinaryOp;
    constexpr std::int64_t kEverything = std::int64_t{1} << 61;
    const Expr zero = ir::constant_i64(0), two = ir::constant_i64(2);
    const auto twice = [&](const Expr& distance) { return ir::binary(kMul, two, ir::binary(kMax, distance, zero)); };
    const Expr c = builder_.expression(b.position.constant, range_);
    const Expr below = builder_.expression(b.below, range_), above = builder_.expression(b.above, range_);
    const Expr far = ir::binary(kGt, ir::binary(kMax, below, above), ir::constant_i64(rt::kMostTensorBytes));
    const Expr past = ir::binary(kAdd, ir::binary(kAdd, c, twice(below)), ir::constant_i64(1));
    const auto lo = builder_.hoist(ir::select(far, ir::constant_i64(-kEverything), ir::binary(kSub, c, twice(above))));
    const auto hi = lo ? builder_.hoist(ir::select(far, ir::constant_i64(kEverything), past)) : std::nullopt;
    if (!hi) return whole_dim();
    return {b.position.terms, {Extent::of(*lo), Extent::of(*hi)}};
  }
  /// True if images in 0 .. n - 1 lie in a dimension of that extent: n is not 0 where an element is computed.
  [[nodiscard]] bool are_inside(const Extent& n, const Extent& extent) const {
    if ((extent - n).constant().value_or(-1) < 0) return false;
    if (const auto number = n.constant()) return *number > 0;
    return std::ranges::any_of(
        labels_, [&](const ir::Label& l) { return (n - (l.end - l.begin)).constant().value_or(-1) >= 0; });
  }

  /// A read that occurs in several places, under different conditions.
  void check_again(const Expr& e, const ir::Read& r) {
    const auto found = std::ranges::find_if(found_, [&](const auto& f) { return f.first == e.id(); });
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const auto boundary =
          ir::boundary_of(r.subscripts[d], labels_, [this](const Expr& x) { return builder_.hoist(x); });
      SymbolicDim& dim = found->second.dims[d];
      if (boundary && boundary->op == ir::BinaryOp::kAround && !(near(*boundary) == dim)) dim = whole_dim();
    }
    if (!kernel_.trusted.contains(e.id())) return;
    for (std::size_t d = 0; d < r.subscripts.size(); ++d) {
      const Extent extent = builder_.rewritten(builder_.type(r.tensor).shape[d], range_);
      const auto form = ir::affine_of(r.subscripts[d], [this](const Expr& x) { return builder_.hoist(x); });
      if (!form || ir::provably_inside(*form, labels_, extent) || premises_.inside(*form, extent)) continue;
      std::vector<std::optional<Extent>>& checked = kernel_.checked[e.id()];
      checked.resize(r.subscripts.size());
      checked[d] = extent;
    }
  }

  /// Warns once per tensor: its other dimensions are rarely news. The location is that of the expression in the source,
  /// because subscripts may be generated (reshape, flat argmin, roll). If the size is unknown at compile time, the run
  /// warns.
  void report_gathered(const Expr& e, const ir::Read& r) {
    if (!gathered_.insert(r.tensor).second) return;
    const SourceRange range = e->range.known() ? e->range : range_;
    const std::string name = name_of(builder_.program(), r.tensor);
    const Extent bytes = builder_.bytes_of(r.tensor, range_);
    if (!bytes.constant()) return builder_.add(range, GathersStep{name, bytes});
    if (*bytes.constant() <= plan::kGatheredBytes) return;
    builder_.warn(
        "gathered", range,
        fmt::format(
            "`{}` is read where only data can tell, under a condition or in a reduction of its own order: every rank "
            "that computes here receives the whole dimension",
            name));
  }

  ProgramBuilder& builder_;
  RecordedOp& op_;
  ComputeKernel& kernel_;
  SourceRange range_;
  std::vector<ir::Label> labels_;
  Premises premises_;
  std::vector<std::string> names_;
  std::vector<std::pair<const ir::ExprNode*, SymbolicAccess>> found_;
  std::set<ValueId> gathered_;
  std::vector<std::pair<AffineForm, Extent>> certain_;
};

}  // namespace

void find_accesses(ProgramBuilder& builder, RecordedOp& op, ComputeKernel& kernel, SourceRange range, bool separate) {
  AccessFinder(builder, op, kernel, range).run(separate);
}

namespace {

/// Proves subscripts in bounds from the signs of sizes: dimensions are nonnegative, and so is the end of a nonempty
/// range that begins at 0.
class SizeFacts {
 public:
  SizeFacts(const OperationProgram& program, const std::vector<ir::Label>& labels) : labels_(labels) {
    for (const auto& [v, name] : program.declarations.dimensions) sizes_.insert(v);
  }

  /// True if 0 <= form < extent for all values of the form's labels.
  [[nodiscard]] bool inside(const AffineForm& form, const Extent& extent) {
    for (const Term& t : form.terms) {
      const ir::Label& l = labels_[static_cast<std::size_t>(t.label)];
      if (const auto v = l.end.as_value(); v && l.begin == Extent(0)) sizes_.insert(*v);
    }
    Extent low = form.constant, high = form.constant;
    for (const Term& t : form.terms) {
      const ir::Label& l = labels_[static_cast<std::size_t>(t.label)];
      if (!is_natural(t.coefficient)) return false;
      low = low + t.coefficient * l.begin;
      high = high + t.coefficient * (l.end - Extent(1));
    }
    return is_natural(low) && is_natural(extent - Extent(1) - high);
  }

 private:
  /// True for sums of products of sizes with nonnegative coefficients.
  [[nodiscard]] bool is_natural(const Extent& e) const {
    return std::ranges::all_of(e.terms(), [this](const auto& term) {
      return term.second >= 0 && std::ranges::all_of(term.first, [this](const Extent::AtomRef& a) {
               return a->kind == Extent::Atom::Kind::kValue && sizes_.contains(a->value);
             });
    });
  }

  const std::vector<ir::Label>& labels_;
  std::set<ValueId> sizes_;
};

}  // namespace

void check_affine(ProgramBuilder& builder, const AffineForm& form, const std::vector<ir::Label>& labels,
                  const Extent& extent, const std::string& text, SourceRange range) {
  if (ir::provably_inside(form, labels, extent) || SizeFacts(builder.program(), labels).inside(form, extent)) return;
  builder.add(range, SubscriptStep{form, labels, extent, text});
}

}  // namespace tdsl::codegen
