#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/operations/program.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/needs.h"
#include "codegen/print/writer.h"
#include "runtime/kernels/simd_level.h"

namespace tdsl::codegen {

/// A kernel function as emitted, and how to call it.
struct EmittedKernel {
  std::string function;           ///< the whole definition
  std::vector<ValueId> captures;  ///< host values it takes after the TaskArgs, in order
  Needs needs;
  rt::SimdLevel widest =
      rt::SimdLevel::kBaseline;  ///< the widest vectors that make it faster; the bits are the same with all
};

/// A kernel that is one expression of a point.
struct ShortKernel {
  /// `[](Out<double, 1> y, In<double, 1> x, Index i) { y(i) = 2.0 * x(i); }`, or a constant for all points
  std::string function;
  std::string loops;      ///< the function of each.h that makes it a kernel: `rt::sum_simd`; empty: rt::constant
  std::string arguments;  ///< template arguments of `loops`: `double, 1`
  rt::SimdLevel widest = rt::SimdLevel::kBaseline;
  std::vector<ValueId> values;  ///< host values that are its last parameters
};

struct KernelRequest {
  const OperationProgram& program;
  const OperationStep& step;
  std::string name;  ///< of the function
  ir::SourceRange place;
  std::function<std::string(ValueId)> value_name;  ///< unique C++ name of a value
  ExprEmitter::ProcedureName procedure_name;
};

/// The kernel of an operation as a typed C++ function of `const TaskArgs& t` and host values: its nest (build_nest.h),
/// verified and printed.
[[nodiscard]] EmittedKernel emit_kernel(const KernelRequest& request);
/// The kernel as a function of one point for the loops of runtime/kernels/each.h; nullopt if it needs more than one
/// expression per point or reports failures.
[[nodiscard]] std::optional<ShortKernel> short_kernel(const KernelRequest& request);

}  // namespace tdsl::codegen
