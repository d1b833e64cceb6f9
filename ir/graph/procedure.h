#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/foreign.h"
#include "ir/graph/graph.h"

namespace tdsl::ir {

/// A function of scalars that takes statements to say, applied once per point of an index space:
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
  /// `before` runs, then, where `condition` holds, `body`, and all again.
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
  /// Stops the run where the condition does not hold.
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
  std::string text;  ///< text_of() this: what equal() and hash() compare
  ForeignRef
      foreign;  ///< instead of body and result, which is a constant of the type: the user's function says what it gives
};
using ProcedureRef = std::shared_ptr<const Procedure>;

/// `procedure(arguments)`, one per parameter and of its type.
[[nodiscard]] Expr application(ProcedureRef procedure, std::vector<Expr> arguments, SourceRange range = {});

/// The procedure that is a call of the user's function, a `fn`.
[[nodiscard]] Procedure procedure_of(ForeignRef function, SourceRange range = {});

/// The procedure that runs the region's nodes and gives `result`: its parameters are `parameters` and then what the
/// region reads from outside, which is appended to `captured`. Nothing if the region does more than compute scalars.
/// May add values to the program.
[[nodiscard]] std::optional<Procedure> procedure_of(Program& program, std::string name, const Region& region,
                                                    const std::vector<ValueId>& parameters, ValueId result,
                                                    std::vector<ValueId>& captured);

/// In the text form, places left out:
///     procedure "half" ($0:f64 "x") { $1:f64 "y" = …; … return $1 }
[[nodiscard]] std::string text_of(const Procedure& procedure);

/// The procedure, of the same parameters, that gives the derivative of a float result by the float parameter with this
/// number. Conditions count as constants.
[[nodiscard]] Procedure tangent_of(const Procedure& procedure, std::size_t parameter);

/// Calls `f` on every expression, in the order of the text.
void for_each_expr(const Procedure& procedure, const std::function<void(const Expr&)>& f);
/// Operations of one call; loops whose bounds are not constants count as one iteration.
[[nodiscard]] double operations_of(const Procedure& procedure);
/// Whether the operation itself may stop the run, whatever its operands do: it divides integers by what may be 0, say.
/// Reads are for others to judge.
[[nodiscard]] bool operation_may_fail(const ExprNode& node);
/// Whether some call may stop the run or never end.
[[nodiscard]] bool may_stop(const Procedure& procedure);

}  // namespace tdsl::ir
