#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/walk/plan_walk.h"
#include "ir/algebra/block.h"

namespace tdsl::codegen {

/// The computation of a recorded operation at one point, with host values as numbers.
struct Body {
  ir::Compute compute;  ///< a Read of ValueId k with the labels of that access is operand k: a read of plan::Op,
                        ///< followed by the base
  ir::Scalar type = ir::Scalar::kF64;  ///< of the result
  std::vector<ir::Scalar> operands;    ///< their types
  std::string text;                    ///< `sum[l](A[i, l] * B[l, j])`
};
/// By result tensor.
using Bodies = std::unordered_map<plan::TensorId, Body>;

/// The region of a program with the bodies of those operations whose host values are known and which are not routines.
[[nodiscard]] plan::Region survey_with_bodies(const OperationProgram& program, const WalkRequest& request,
                                              Bodies& bodies, const record::Forms& forms = {});

/// The body with A[i, i] read from the diagonal of A, a vector.
[[nodiscard]] Body reading_diagonals(const Body& body);

/// The labels that a body uses as numbers, not as subscripts.
[[nodiscard]] std::vector<int> counting_labels(const Body& body);

/// The result array computed from the operand arrays, with extents[l] elements of label l. The body's own operands are
/// followed by the values of counting labels: `counted[l]` is the operand for label l, or -1.
[[nodiscard]] ir::algebra::Array evaluated(const Body& body, const std::vector<plan::Index>& extents,
                                           const std::vector<int>& counted, const ir::algebra::Block& operands);

}  // namespace tdsl::codegen
