#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// An equivalence of plans on sites: both sides hold the same keys and blocks, possibly on different sites. After Table
/// 2 of the tensor relational algebra paper, with R1-4, R1-7, R2-4, R2-5 and R2-7 corrected (see ir/algebra/README.md).
/// In the texts R, L are relations, `at X` moves tuples to the sites of layout X (shuf or bcast), D..P are layouts, f,
/// g kernels, p conditions on keys.
struct Rule {
  std::string_view name;
  std::string_view pattern;
  std::string_view result;
  std::string_view condition;
  /// Appends possible replacements of the expression's root. Results may be ill-formed: the caller discards those.
  void (*apply)(Pool& pool, const Expr& e, std::vector<Expr>& results);
};

/// The rules on kernels and keys (R1), then those on sites (R2).
[[nodiscard]] std::span<const Rule> rules();
/// Throws AlgebraError for an unknown name.
[[nodiscard]] const Rule& rule_named(std::string_view name);

/// True if `b` may replace `a`, ignoring sites: same keys, blocks and, if partial, pieces of the same aggregation.
[[nodiscard]] bool same_contents(const RelationType& a, const RelationType& b);
/// The sound results of a rule that have the contents of `e`.
[[nodiscard]] std::vector<Expr> applied(const Rule& rule, Pool& pool, const Expr& e);

namespace detail {
[[nodiscard]] std::span<const Rule> kernel_rules();
[[nodiscard]] std::span<const Rule> site_rules();
}  // namespace detail

}  // namespace tdsl::ir::algebra
