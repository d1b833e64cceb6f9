#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/foreign.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A function of scalars with a statement body, applied once per point of an index space:
///
///     fn steps(x: f64) { var y = x; var n = 0; while y > 1.0 { y = y / 2.0; n += 1; } return n; }
///
/// Its expressions are over `Argument`: `$k` is variable number k. The first variables are the parameters. Every other
/// variable is assigned before it is read. Immutable, shared by the expressions that apply it.
struct Procedure {
  struct Variable {
    std::string name;
    Scalar type = Scalar::kF64;
  };
  struct Statement;
  using Statements = std::vector<Statement>;
  struct Assign {
    std::int32_t variable = 0;
    Expr value;
  };
  /// Bounds are i64 and evaluated once; `step` as in ir::For.
  struct Count {
    std::int32_t variable = 0;
    Expr begin;
    Expr end;
    std::int64_t step = 1;
    Statements body;
  };
  /// Repeats: runs `before`, then `body` if `condition` holds, else stops.
  struct Repeat {
    Statements before;
    Expr condition;
    Statements body;
  };
  struct Branch {
    Expr condition;
    Statements then_part;
    Statements else_part;
  };
  /// Stops the run if the condition does not hold.
  struct Require {
    Expr condition;
    std::string message;
  };
  struct Statement {
    SourceRange range;
    std::variant<Assign, Count, Repeat, Branch, Require> op;
  };

  std::string name;
  SourceRange range;
  std::size_t parameters = 0;
  std::vector<Variable> variables;
  Statements body;
  Expr result;
  std::string text;  ///< text_of() this: compared by equal() and hash()
  ForeignRef
      foreign;  ///< replaces body and result, which is a constant of the type: the user function computes the result
};
using ProcedureRef = std::shared_ptr<const Procedure>;

/// `procedure(arguments)`, one per parameter and of its type.
[[nodiscard]] Expr application(ProcedureRef procedure, std::vector<Expr> arguments, SourceRange range = {});

/// The procedure that calls the user's function, a `fn`.
[[nodiscard]] Procedure procedure_of(ForeignRef function, SourceRange range = {});

/// The procedure that runs the region's nodes and returns `result`: its parameters are `parameters`, then the outside
/// values read in the region, which are appended to `captured`. Nothing if the region contains more than scalar work.
/// May add values to the program.
[[nodiscard]] std::optional<Procedure> procedure_of(Program& program, std::string name, const Region& region,
                                                    const std::vector<ValueId>& parameters, ValueId result,
                                                    std::vector<ValueId>& captured);

/// In the text form, without locations:
///     procedure "half" ($0:f64 "x") { $1:f64 "y" = …; … return $1 }
[[nodiscard]] std::string text_of(const Procedure& procedure);

/// The procedure, with the same parameters, that computes the derivative of a float result with respect to the float
/// parameter with this number. Conditions count as constants.
[[nodiscard]] Procedure tangent_of(const Procedure& procedure, std::size_t parameter);

/// Calls `f` on every expression, in the order of the text.
void for_each_expr(const Procedure& procedure, const std::function<void(const Expr&)>& f);
/// Operations of one call; loops whose bounds are not constants count as one iteration.
[[nodiscard]] double operations_of(const Procedure& procedure);
/// True if the operation itself may stop the run, regardless of its operands: for example an integer division by a
/// possible 0. Reads are not considered.
[[nodiscard]] bool operation_may_fail(const ExprNode& node);
/// True if some call may stop the run or not terminate.
[[nodiscard]] bool may_stop(const Procedure& procedure);

}  // namespace tdsl::ir
