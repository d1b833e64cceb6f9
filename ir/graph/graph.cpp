#include "ir/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "ir/graph/check.h"
#include "ir/graph/clone.h"

namespace tdsl::ir {

namespace {

constexpr std::array<std::string_view, 9> kMonoidNames = {"sum", "prod",   "min",    "max", "any",
                                                          "all", "argmin", "argmax", "user"};
constexpr std::array<std::string_view, 3> kRandomNames = {"uniform", "normal", "sparse_uniform"};
constexpr std::array<std::string_view, 23> kRoutineNames = {
    "cumsum", "cumprod",  "cummax", "cummin", "sort", "argsort", "topk", "filter", "fft", "ifft",  "rfft",   "irfft",
    "solve",  "cholesky", "lu",     "qr",     "svd",  "eigh",    "eig",  "inv",    "det", "lstsq", "foreign"};
constexpr std::array<std::string_view, 3> kScaleNames = {"none", "root", "whole"};
static_assert(kMonoidNames.size() == static_cast<std::size_t>(Monoid::Kind::kUser) + 1);
static_assert(kRoutineNames.size() == static_cast<std::size_t>(Routine::Kind::kForeign) + 1);

/// The largest (sign 1) or smallest (sign -1) value of a type.
Literal limit_of(Scalar s, int sign) {
  if (s == Scalar::kBool) return sign > 0;
  if (is_float(s)) return sign * std::numeric_limits<double>::infinity();
  const auto unused = static_cast<unsigned>(64 - 8 * size_of(s));
  // The bits of a u64.
  if (is_unsigned(s)) return sign > 0 ? static_cast<std::int64_t>(~std::uint64_t{0} >> unused) : std::int64_t{0};
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max() >> unused;
  return sign > 0 ? largest : -largest - 1;
}

/// 0 or 1 as an element of type `s`.
Expr small_constant(Scalar s, int value) {
  if (s == Scalar::kBool) return constant(s, value != 0);
  if (is_float(s)) return constant(s, static_cast<double>(value));
  return constant(s, std::int64_t{value});
}

/// Collects values in order of first occurrence.
class Mentions {
 public:
  void add(ValueId v) {
    if (seen_.insert(v).second) list_.push_back(v);
  }
  void add(const Extent& e) {
    for (const ValueId v : e.values()) add(v);
  }
  void add(const Expr& e) {
    if (!e) return;
    for_each_node(e, [this](const ExprNode& node) {
      if (const auto* r = std::get_if<Read>(&node.op)) add(r->tensor);
    });
  }
  [[nodiscard]] std::vector<ValueId> take() { return std::move(list_); }

 private:
  std::set<ValueId> seen_;
  std::vector<ValueId> list_;
};

}  // namespace

bool equal(const Monoid& a, const Monoid& b) {
  if (a.kind != b.kind) return false;
  if (a.kind != Monoid::Kind::kUser) return true;
  return a.name == b.name && equal(a.identity, b.identity) && equal(a.combine, b.combine);
}

Expr identity_of(const Monoid& m, Scalar s) {
  switch (m.kind) {
    case Monoid::Kind::kSum: return small_constant(s, 0);
    case Monoid::Kind::kProd: return small_constant(s, 1);
    case Monoid::Kind::kMin: return constant(s, limit_of(s, 1));
    case Monoid::Kind::kMax: return constant(s, limit_of(s, -1));
    case Monoid::Kind::kAny: return constant(Scalar::kBool, false);
    case Monoid::Kind::kAll: return constant(Scalar::kBool, true);
    case Monoid::Kind::kArgMin:
    case Monoid::Kind::kArgMax: return constant_i64(-1);
    case Monoid::Kind::kUser: return m.identity;
  }
  TDSL_CHECK(false, "unknown monoid");
  return {};
}

std::string_view name_of(Monoid::Kind kind) { return kMonoidNames.at(static_cast<std::size_t>(kind)); }
std::string_view name_of(Random::Kind kind) { return kRandomNames.at(static_cast<std::size_t>(kind)); }
std::string_view name_of(Routine::Kind kind) { return kRoutineNames.at(static_cast<std::size_t>(kind)); }

std::string_view name_of(Routine::Scale scale) { return kScaleNames.at(static_cast<std::size_t>(scale)); }

bool is_line(Routine::Kind kind) { return kind <= Routine::Kind::kIrfft; }

bool runs_in_tasks(Routine::Kind kind) {
  using Kind = Routine::Kind;
  return kind == Kind::kSolve || kind == Kind::kInv || kind == Kind::kCholesky || kind == Kind::kDet ||
         kind == Kind::kEigh;
}

ValueId Program::new_value(Type type, std::string value_name, SourceRange range) {
  values.push_back({std::move(type), std::move(value_name), range});
  return {static_cast<std::int32_t>(values.size() - 1)};
}

std::optional<std::string> default_text(const Param& p) {
  if (p.computed_default) return p.default_text;
  if (!p.default_value) return std::nullopt;
  return match(
      *p.default_value, [](bool b) { return std::string(b ? "true" : "false"); },
      [](std::int64_t i) { return fmt::format("{}", i); }, [](double d) { return fmt::format("{}", d); },
      [](rt::Complex<double> z) { return fmt::format("{}{:+}i", z.re, z.im); });
}

std::set<ValueId> known_at_start(const Program& program) {
  std::set<ValueId> known;
  for (const Node& node : program.body.nodes) {
    const auto* compute = std::get_if<Compute>(&node.op);
    const bool scalar = compute != nullptr && compute->out.empty() && compute->reduce.empty() && compute->left.empty();
    if (!scalar && !std::holds_alternative<Dimension>(node.op) && !std::holds_alternative<Param>(node.op)) continue;
    if (std::ranges::all_of(operands_of(program, node), [&](ValueId operand) { return known.contains(operand); }))
      known.insert(node.results.begin(), node.results.end());
  }
  return known;
}

bool known_at_start(const Program& program, ValueId v) { return known_at_start(program).contains(v); }

void for_each_node(const Region& region, const std::function<void(const Node&)>& f) {
  for (const Node& node : region.nodes) {
    f(node);
    for (const Region* inner : regions_in(node)) for_each_node(*inner, f);
  }
}

std::vector<ValueId> operands_of(const Program& program, const Node& node) {
  Mentions mentions;
  for_each_operand(node.op, [&](const auto& part) { mentions.add(part); });
  for (const ValueId result : node.results) {
    for (const Extent& extent : program.type(result).shape) mentions.add(extent);
    for (const Extent& edge : program.info(result).tile) mentions.add(edge);
  }
  return mentions.take();
}

}  // namespace tdsl::ir
