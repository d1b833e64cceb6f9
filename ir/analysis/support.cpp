#include "ir/analysis/support.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/graph/clone.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/within.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::ir {

namespace {

using Kind = Support::Kind;

const Support kNeverSupport{Kind::kNever, -1, {}};
const Support kAlwaysSupport{Kind::kAlways, -1, {}};

/// True if `b` implies `a` by comparison of their direct parts; incomplete.
bool implies(const Support& a, const Support& b) {
  if (a == b) return true;
  const auto among = [&](const Support& whole, const Support& part) {
    return std::ranges::find(whole.parts, part) != whole.parts.end();
  };
  return (b.kind == Kind::kAll && among(b, a)) || (a.kind == Kind::kAny && among(a, b));
}

/// `kind` of the parts, without redundant ones. `unit` is neutral, `zero` absorbing.
Support joined(Kind kind, std::vector<Support> parts, Kind unit, Kind zero) {
  std::vector<Support> flat;
  for (Support& p : parts) {
    if (p.kind == zero) return {zero, -1, {}};
    if (p.kind == kind) {
      flat.insert(flat.end(), p.parts.begin(), p.parts.end());
    } else if (p.kind != unit) {
      flat.push_back(std::move(p));
    }
  }
  std::vector<Support> kept;
  for (std::size_t k = 0; k < flat.size(); ++k) {
    bool needed = true;
    for (std::size_t other = 0; other < flat.size(); ++other) {
      if (other == k || (other > k && flat[other] == flat[k])) continue;
      needed = needed && !(kind == Kind::kAny ? implies(flat[other], flat[k]) : implies(flat[k], flat[other]));
    }
    if (needed) kept.push_back(flat[k]);
  }
  if (kept.empty()) return {unit, -1, {}};
  return kept.size() == 1 ? kept.front() : Support{kind, -1, std::move(kept)};
}

/// True if the operator maps 0 to 0.
bool keeps_zero(UnaryOp op) {
  using enum UnaryOp;
  switch (op) {
    case kNot:
    case kBitNot:
    case kExp:
    case kLog:
    case kCos:
    case kAcos:
    case kCosh:
    case kAcosh:
    case kLog2:
    case kLog10:
    case kExp2:
    case kErfc:
    case kGamma:
    case kLgamma:
    case kDigamma:
    case kSigmoid: return false;
    default: return true;
  }
}

bool is_positive_constant(const Expr& e) {
  const auto* c = std::get_if<Constant>(&e->op);
  if (c == nullptr) return false;
  const auto* real = std::get_if<double>(&c->value);
  const auto* whole = std::get_if<std::int64_t>(&c->value);
  return real != nullptr ? *real > 0 : whole != nullptr && *whole > 0;
}

bool holds_for(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kEq: return rt::scalar::equal(a, b);
    case BinaryOp::kNe: return rt::scalar::not_equal(a, b);
    case BinaryOp::kLt: return rt::scalar::less(a, b);
    case BinaryOp::kLe: return rt::scalar::less_equal(a, b);
    case BinaryOp::kGt: return rt::scalar::greater(a, b);
    default: return rt::scalar::greater_equal(a, b);
  }
}

}  // namespace

bool carries_absence(const Support& s) { return s.kind != Kind::kNever && s.kind != Kind::kAlways; }

std::string text_of(const Support& s, const std::function<std::string(int)>& name) {
  switch (s.kind) {
    case Kind::kNever: return "never";
    case Kind::kAlways: return "always";
    case Kind::kValue:
    case Kind::kRead: return name(s.read);
    case Kind::kAll:
    case Kind::kAny: break;
  }
  std::string text = s.kind == Kind::kAll ? "all(" : "any(";
  for (std::size_t k = 0; k < s.parts.size(); ++k) text += (k == 0 ? "" : ", ") + text_of(s.parts[k], name);
  return text + ")";
}

Support all_of(std::vector<Support> parts) { return joined(Kind::kAll, std::move(parts), Kind::kAlways, Kind::kNever); }

Support any_of(std::vector<Support> parts) { return joined(Kind::kAny, std::move(parts), Kind::kNever, Kind::kAlways); }

bool holds(const Support& s, const std::vector<bool>& present) {
  const auto part = [&](const Support& p) { return holds(p, present); };
  switch (s.kind) {
    case Kind::kNever: return false;
    case Kind::kAlways: return true;
    case Kind::kValue:
    case Kind::kRead: return present.at(static_cast<std::size_t>(s.read));
    case Kind::kAll: return std::ranges::all_of(s.parts, part);
    case Kind::kAny: return std::ranges::any_of(s.parts, part);
  }
  return true;
}

const Support& SupportFinder::of(const Expr& e) {
  if (!e) return kAlwaysSupport;
  if (const auto known = known_.find(e.id()); known != known_.end()) return known->second.second;
  Support s = found(e);
  return known_.emplace(e.id(), std::pair{e, std::move(s)}).first->second.second;
}

int SupportFinder::number(const Expr& e) {
  const auto same = std::ranges::find_if(reads_, [&](const Expr& r) { return equal(r, e); });
  if (same == reads_.end()) {
    reads_.push_back(e);
    return static_cast<int>(reads_.size()) - 1;
  }
  return static_cast<int>(same - reads_.begin());
}

Support SupportFinder::found(const Expr& e) {
  return match(
      e->op, [&](const Constant&) { return is_zero(e) ? kNeverSupport : kAlwaysSupport; },
      [](const IndexRef&) { return kAlwaysSupport; },
      [&](const Read& r) {
        return program_.type(r.tensor).has_sparse() ? Support{Kind::kRead, number(e), {}} : kAlwaysSupport;
      },
      [](const Argument&) { return kAlwaysSupport; }, [&](const Unary& u) { return of_unary(e, u); },
      [&](const Binary& b) { return of_binary(e, b); },
      [&](const Select& s) {
        if (within_of(e)) return of(s.when_true);
        Support taken = all_of({of(s.condition), of(s.when_true)});
        return any_of({std::move(taken), of(s.when_false)});
      },
      [&](const Cast& c) { return of(c.operand); }, [](const Apply&) { return kAlwaysSupport; });
}

Support SupportFinder::of_unary(const Expr& e, const Unary& u) {
  Support s = of(u.operand);
  if (u.op == UnaryOp::kDense || !keeps_zero(u.op)) return kAlwaysSupport;
  // A scalar has no dimensions, hence no sparse ones.
  return u.op == UnaryOp::kSparse && !carries_absence(s) && !labels_in(u.operand).empty()
             ? Support{Kind::kValue, number(e), {}}
             : s;
}

Support SupportFinder::of_binary(const Expr& e, const Binary& b) {
  if (is_comparison(b.op)) return of_comparison(b);
  switch (b.op) {
    case BinaryOp::kMul:
    case BinaryOp::kDiv:
    case BinaryOp::kAbsentMul:
    case BinaryOp::kMutualMul:
    case BinaryOp::kAbsentDiv: return of_product(e, b);
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
    case BinaryOp::kBitOr:
    case BinaryOp::kBitXor:
    case BinaryOp::kOr: {
      Support left = of(b.left);
      return any_of({std::move(left), of(b.right)});
    }
    case BinaryOp::kBitAnd:
    case BinaryOp::kAnd: {
      Support left = of(b.left);
      return all_of({std::move(left), of(b.right)});
    }
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return of(b.left);
    case BinaryOp::kPow: return is_positive_constant(b.right) ? of(b.left) : kAlwaysSupport;
    default: return kAlwaysSupport;
  }
}

/// A constant 0 does not carry absence: as a factor it does not win against nan.
Support SupportFinder::of_product(const Expr& e, const Binary& b) {
  const Support left = of(b.left);
  const Support right = of(b.right);
  const bool divides = b.op == BinaryOp::kDiv || b.op == BinaryOp::kAbsentDiv;
  if (!is_float(e->type)) return divides ? left : all_of({left, right});
  const auto winning = [](const Support& s) { return carries_absence(s) ? s : kAlwaysSupport; };
  const bool explicitly = products_ == Products::kExplicit;
  if (b.op == BinaryOp::kMutualMul || (b.op == BinaryOp::kMul && !explicitly))
    return all_of({winning(left), winning(right)});
  const bool loses = explicitly && (b.op == BinaryOp::kMul || b.op == BinaryOp::kDiv);
  return loses ? kAlwaysSupport : winning(left);
}

/// Informative for a comparison of absence-carrying operands and constants that is false where the absent elements are
/// 0.
Support SupportFinder::of_comparison(const Binary& b) {
  const auto at_absence = [&](const Expr& e) -> std::optional<double> {
    if (of(e).kind != Kind::kAlways) return 0.0;
    const auto* c = std::get_if<Constant>(&e->op);
    if (c == nullptr) return std::nullopt;
    return match(
        c->value, [](bool v) { return v ? 1.0 : 0.0; },
        [&](std::int64_t v) {
          return e->type == Scalar::kU64 ? static_cast<double>(static_cast<std::uint64_t>(v)) : static_cast<double>(v);
        },
        [](double v) { return v; }, [](rt::Complex<double> z) { return z.re; });
  };
  const auto left = at_absence(b.left);
  const auto right = at_absence(b.right);
  if (!left || !right || holds_for(b.op, *left, *right)) return kAlwaysSupport;
  Support first = of(b.left);
  if (!carries_absence(first)) first = kNeverSupport;
  Support second = of(b.right);
  if (!carries_absence(second)) second = kNeverSupport;
  Support both = any_of({std::move(first), std::move(second)});
  return both.kind == Kind::kNever ? kAlwaysSupport : both;
}

namespace {

bool adds_nothing(const std::optional<Monoid>& m) {
  return !m || m->kind == Monoid::Kind::kSum || m->kind == Monoid::Kind::kAny;
}

bool fills_with_zero(const Compute& c) { return !c.fill || is_zero(c.fill); }

}  // namespace

bool zero_contributes_nothing(const Compute& c) {
  if (!adds_nothing(c.monoid) || !adds_nothing(c.combine)) return false;
  return c.combine || (!c.base && fills_with_zero(c));
}

namespace {

/// Infers a result's storage: a label is *bound* if the support is false where the reads with this label in a sparse
/// dimension are absent.
class Binding {
 public:
  Binding(const Program& program, Support support, std::vector<Expr> reads)
      : program_(program), support_(std::move(support)), reads_(std::move(reads)) {}

  [[nodiscard]] bool is_bound(std::int32_t label) const {
    std::vector<bool> present;
    for (const Expr& r : reads_) present.push_back(!compressed(r).contains(label));
    return !holds(support_, present);
  }
  /// True if the two labels come from different factors that share one of the labels `over`.
  [[nodiscard]] bool joins(std::int32_t a, std::int32_t b, const std::vector<std::int32_t>& over) const {
    for (std::size_t first = 0; first < reads_.size(); ++first) {
      for (std::size_t second = 0; second < reads_.size(); ++second) {
        if (first == second || !is_factor(first) || !is_factor(second) || !mentions(first, a) || !mentions(second, b))
          continue;
        if (std::ranges::any_of(over, [&](std::int32_t l) { return mentions(first, l) && mentions(second, l); }))
          return true;
      }
    }
    return false;
  }

 private:
  /// The labels in sparse dimensions. `sparse(x)` counts as a type without flags: all labels but the first one.
  [[nodiscard]] std::set<std::int32_t> compressed(const Expr& e) const {
    const auto* r = std::get_if<Read>(&e->op);
    if (r == nullptr) {
      std::set<std::int32_t> labels = labels_in(e);
      if (labels.size() > 1) labels.erase(labels.begin());
      return labels;
    }
    std::set<std::int32_t> labels;
    const Format& format = program_.type(r->tensor).format;
    for (std::size_t d = 0; d < r->subscripts.size(); ++d) {
      if (format.is_sparse(d)) labels.merge(labels_in(r->subscripts[d]));
    }
    return labels;
  }
  [[nodiscard]] bool mentions(std::size_t read, std::int32_t label) const {
    return labels_in(reads_[read]).contains(label);
  }
  [[nodiscard]] bool is_factor(std::size_t read) const {
    std::vector<bool> present(reads_.size(), true);
    present[read] = false;
    return !holds(support_, present);
  }

  const Program& program_;
  Support support_;
  std::vector<Expr> reads_;
};

}  // namespace

Support support_of(const Program& program, const Compute& compute, std::vector<Expr>* reads, Products products) {
  SupportFinder finder(program, products);
  Support support = finder.of(compute.guard);
  if (zero_contributes_nothing(compute)) support = all_of({std::move(support), finder.of(compute.bodies.at(0))});
  if (reads != nullptr) *reads = finder.reads();
  return support;
}

Format inferred_format(const Program& program, const Compute& compute, Products products) {
  if (compute.base || !adds_nothing(compute.monoid) || !adds_nothing(compute.combine) || !fills_with_zero(compute))
    return {};
  std::vector<Expr> reads;
  Support support = support_of(program, compute, &reads, products);
  if (!carries_absence(support)) return {};
  const Binding binding(program, std::move(support), std::move(reads));
  // The label of each result dimension, -1 for a computed store subscript; the other labels are reduced, if there is a
  // combining operator.
  std::vector<std::int32_t> result;
  if (compute.left.empty()) {
    for (std::size_t l = 0; l < compute.out.size(); ++l) result.push_back(static_cast<std::int32_t>(l));
  }
  for (const Expr& e : compute.left) result.push_back(bare_label(e));
  std::vector<std::int32_t> reduced;
  const auto labels = static_cast<std::int32_t>(compute.out.size() + compute.reduce.size());
  for (std::int32_t l = 0; l < labels; ++l) {
    const bool meets = static_cast<std::size_t>(l) >= compute.out.size() || compute.combine.has_value();
    if (meets && std::ranges::find(result, l) == result.end()) reduced.push_back(l);
  }
  using Level = Format::Level;
  Format format;
  for (const std::int32_t l : result)
    format.levels.push_back(l >= 0 && binding.is_bound(l) ? Level::kSparse : Level::kDense);
  const bool all_bound = std::ranges::all_of(reduced, [&](std::int32_t l) { return binding.is_bound(l); });
  const auto bound = std::ranges::count(format.levels, Level::kSparse);
  if (bound > 0) return all_bound || bound > 1 ? format : Format{};
  std::erase_if(reduced, [&](std::int32_t l) { return !binding.is_bound(l); });
  for (const std::int32_t a : result) {
    for (const std::int32_t b : result) {
      if (a < 0 || b < 0 || a == b || !binding.joins(a, b, reduced)) continue;
      format.levels.assign(result.size(), Level::kSparse);
      format.levels[0] = Level::kDense;
      return format;
    }
  }
  return {};
}

namespace {

/// Values used other than in a Compute's expressions: by loops, branches, updates, routines.
std::set<ValueId> used_as_they_are(const Program& program) {
  std::set<ValueId> used;
  for_each_node(program.body, [&](const Node& n) {
    for (const Region* r : regions_in(n)) {
      used.insert(r->yields.begin(), r->yields.end());
      used.insert(r->arguments.begin(), r->arguments.end());
    }
    if (const auto* c = std::get_if<Compute>(&n.op)) {
      if (c->base) used.insert(*c->base);
      return;
    }
    const std::vector<ValueId> operands = operands_of(program, n);
    used.insert(operands.begin(), operands.end());
  });
  return used;
}

void infer_in(Program& program, const Region& region, std::size_t first, const std::set<ValueId>& fixed) {
  for (const Node& n : region.nodes) {
    for (const Region* inner : regions_in(n)) infer_in(program, *inner, first, fixed);
    const auto* c = std::get_if<Compute>(&n.op);
    if (c == nullptr || static_cast<std::size_t>(n.results[0].id) < first || fixed.contains(n.results[0])) continue;
    Type& type = program.values[static_cast<std::size_t>(n.results[0].id)].type;
    if (!type.has_sparse()) type.format = inferred_format(program, *c, Products::kImplied);
  }
}

}  // namespace

void infer_storage(Program& program, std::size_t first) {
  const bool any = std::ranges::any_of(program.values, [](const ValueInfo& v) { return v.type.has_sparse(); });
  if (any) infer_in(program, program.body, first, used_as_they_are(program));
}

}  // namespace tdsl::ir
