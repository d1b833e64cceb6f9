#pragma once

#include <variant>
#include <vector>

#include "ir/eval/expr.h"
#include "ir/graph/procedure.h"

namespace tdsl::ir::eval {

/// A procedure prepared for many calls.
class CompiledProcedure {
 public:
  /// `place`: the source range of errors in nodes without one.
  CompiledProcedure(ProcedureRef procedure, const SourceRange& place);

  /// The result; its bound is open if a condition on its path was. Throws Stop.
  [[nodiscard]] Slot call(std::vector<Slot> arguments);

 private:
  struct Step;
  using Steps = std::vector<Step>;
  struct Assign {
    std::size_t variable = 0;
    CompiledExpr value;
  };
  struct Count {
    std::size_t variable = 0;
    CompiledExpr begin;
    CompiledExpr end;
    std::int64_t step = 1;
    Steps body;
  };
  struct Repeat {
    Steps before;
    CompiledExpr condition;
    Steps body;
  };
  struct Branch {
    CompiledExpr condition;
    Steps then_part;
    Steps else_part;
  };
  struct Require {
    CompiledExpr condition;
    std::string message;
    SourceRange range;
  };
  struct Step {
    std::variant<Assign, Count, Repeat, Branch, Require> op;
  };

  [[nodiscard]] CompiledExpr compiled(const Expr& e, const SourceRange& place) const;
  [[nodiscard]] Steps compiled(const Procedure::Statements& statements) const;
  void run(Steps& steps);
  [[nodiscard]] Slot value(CompiledExpr& e);
  [[nodiscard]] std::int64_t control(CompiledExpr& e);

  ProcedureRef procedure_;
  SourceRange place_;
  Program nothing_;  ///< procedures read no tensors
  Steps body_;
  CompiledExpr result_;
  std::vector<Slot> slots_;
  double open_ = 0;  ///< largest bound of a condition in this call
};

}  // namespace tdsl::ir::eval
