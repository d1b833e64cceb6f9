#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/nest/nest.h"
#include "codegen/print/emit_expr.h"

namespace tdsl::nest {

/// A nest as C++, and what it uses.
struct PrintedNest {
  std::string text;
  std::vector<ValueId> captures;  ///< variables that it takes, in order
  bool checks = false;            ///< calls inside()
  bool places = false;            ///< calls place(), in functions that stop the run at once
  bool draws = false;             ///< takes the seed of the run's random numbers last
  bool blocked = false;           ///< uses runtime/kernels/blocked_reduction.h
  bool parts = false;             ///< uses runtime/kernels/parts.h
  bool stored = false;            ///< uses runtime/kernels/stored.h
  bool vectors = false;           ///< holds loops that become vectors
  bool calls_library = false;     ///< functions that have vector forms
};

/// `void kernel_g(const TaskArgs& t, double rate) { … }`. The nest has been verified.
[[nodiscard]] PrintedNest print_function(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures);

/// `double half(double x) { … return x / 2.0; }` of a function of scalars.
[[nodiscard]] PrintedNest print_scalar_function(const Nest& nest,
                                                const codegen::ExprEmitter::ProcedureName& procedures);

/// A comment that shows a line of the program.
using SourceLine = std::function<std::string(const ir::SourceRange&)>;
/// `void loop_x(const TaskArgs& t, Index n) { … }` of what one task does on whole tensors. Statements stand behind the
/// lines they are of.
[[nodiscard]] PrintedNest print_task(const Nest& nest, const codegen::ExprEmitter::ProcedureName& procedures,
                                     const SourceLine& source_line);

/// A nest that is one expression for every point of the task: `[](Out<double, 1> g, In<double, 1> x, Index i) { g(i)
/// = 2.0 * x(i); }`.
struct PrintedPoint : PrintedNest {
  bool sums = false;  ///< the text gives a value, the result is the sum over all other indices
};
/// Nothing where the nest is more than that, or reports failures.
[[nodiscard]] std::optional<PrintedPoint> print_point(const Nest& nest,
                                                      const codegen::ExprEmitter::ProcedureName& procedures);

}  // namespace tdsl::nest
