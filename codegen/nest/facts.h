#pragma once

#include <functional>
#include <map>
#include <set>

#include "codegen/nest/nest.h"

// Queries on nests for printer, verifier and builder.

namespace tdsl::nest {

/// Calls `f` for every statement, outer ones first.
void for_each_statement(const Body& body, const std::function<void(const Statement&)>& f);
/// Calls `f` for every expression of the statement itself, including subscripts; missing parts are skipped.
void for_each_expr(const Statement& statement, const std::function<void(const Expr&)>& f);

/// The loop over the elements of the current row in a loop over the rows of a matrix, before which only locals are
/// defined; null if there is none.
[[nodiscard]] const For* loop_over_elements(const For& rows);

/// The update that the statement is, perhaps behind a condition; null for others.
[[nodiscard]] const Update* update_in(const Statement& s);
/// True if the loop over the rows of a matrix contains loops over the elements of a row, and these contain updates
/// only: of results, or of locals that the loop over rows defines before and stores after them.
[[nodiscard]] bool passes_by_value(const For& rows);
/// The statement of the loop's body that stores the local; null if there is none.
[[nodiscard]] const Statement* store_of(const For& rows, ValueId local);

/// The values read by the body's expressions.
[[nodiscard]] std::set<ValueId> values_read(const Nest& nest);

/// True if evaluating the expression may stop the run: by arithmetic, a procedure, or a bounded subscript.
[[nodiscard]] bool may_stop(const Nest& nest, const Expr& e);
/// Why a loop over this body cannot be vectorised; empty if it can. `index`: the loop's.
[[nodiscard]] std::string not_simd(const Nest& nest, int index, const Body& body);

/// The definitions of local constants.
using Definitions = std::map<ValueId, Expr>;
[[nodiscard]] Definitions definitions_of(const Nest& nest);
/// The expression with local constants expanded.
[[nodiscard]] Expr expanded(const Definitions& definitions, const Expr& e);
/// Integer locals that start at a small constant and change only by small constants, so that no run is long enough for
/// them to overflow.
[[nodiscard]] std::set<ValueId> counters_of(const Nest& nest);

/// Recognizes sums and differences of constants, truth values and index variables that cannot overflow. An index
/// variable whose range begins at a nonnegative constant is at least that constant, and less than the largest integer.
class IndexArithmetic {
 public:
  explicit IndexArithmetic(const Nest& nest);
  /// True if neither the expression nor a part of it can overflow.
  [[nodiscard]] bool is_safe(const ir::ExprNode& e) const { return range_of(e).has_value(); }

 private:
  __extension__ using Wide = __int128;
  struct Values {
    std::int64_t least = 0, greatest = 0;
  };
  [[nodiscard]] std::optional<Values> range_of(const ir::ExprNode& e) const;

  Definitions definitions_;
  std::map<int, std::int64_t> begins_;  ///< by index variable
};
/// True for a comparison of integers that is linear in two index variables: where it holds, and where it does not, it
/// does in a rectangle of points if it does at the corners.
[[nodiscard]] bool is_half_plane(const Expr& condition, int row, int column);
/// True if both branches of a select are computed, so that the enclosing loop vectorises
/// (codegen/operations/vector_forms.h).
[[nodiscard]] bool takes_both(const Nest& nest, const Definitions& definitions, const ir::Select& select);

}  // namespace tdsl::nest
