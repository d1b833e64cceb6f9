#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/nest/nest.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"

namespace tdsl::nest {

/// A nest as C++.
struct PrintedNest {
  std::string text;
  std::vector<ValueId> captures;  ///< variables passed as parameters, in order
  codegen::Needs needs;
  bool draws = false;          ///< takes the seed of the run's random numbers as last parameter
  bool vectors = false;        ///< contains vectorised loops
  bool masks = false;          ///< contains reductions with masks in vectors
  bool calls_library = false;  ///< calls library functions that have vector versions
};

/// `void g_3(const TaskArgs& t, double rate) { … }`. The nest must have been verified.
[[nodiscard]] PrintedNest print_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures);

/// `double half(double x) { … return x / 2.0; }` for a function of scalars.
[[nodiscard]] PrintedNest print_scalar_function(const Nest& nest,
                                                const codegen::ExprEmitter::ProcedureName& procedures);

/// A comment that shows a line of the program.
using SourceLine = std::function<std::string(const ir::SourceRange&)>;
/// `void loop_x(const TaskArgs& t, Index n) { … }` for one task on whole tensors. Statements follow comments with their
/// source lines.
[[nodiscard]] PrintedNest print_task(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures,
                                     const SourceLine& source_line);

/// A nest that is one expression for every point of the task: `[](Out<double, 1> g, In<double, 1> x, Index i) { g(i) =
/// 2.0 * x(i); }`.
struct PrintedPoint : PrintedNest {
  /// The text is a value, reduced over all indices that are not the result's.
  std::optional<ir::Monoid::Kind> reduces{};
  /// The value of every point, if it is a constant or a captured variable.
  std::optional<std::string> constant{};
};
/// Nothing if the nest is more complex, or reports failures.
[[nodiscard]] std::optional<PrintedPoint> print_point(const Nest& nest,
                                                      const codegen::ExprEmitter::ProcedureName& procedures);

}  // namespace tdsl::nest
