#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/families/plan_walk.h"
#include "ir/algebra/block.h"

namespace tdsl::codegen {

/// What a recorded operation computes for a point, with host values as numbers.
struct Body {
  ir::Compute compute;  ///< a Read of ValueId k with the labels of that access is operand k: a read of plan::Op, behind
                        ///< them the base
  ir::Scalar type = ir::Scalar::kF64;  ///< of the result
  std::vector<ir::Scalar> operands;    ///< their types
  std::string text;                    ///< `sum[l](A[i, l] * B[l, j])`
};
/// By the tensor that is made.
using Bodies = std::unordered_map<plan::TensorId, Body>;

/// The region of a program together with the bodies of those operations whose host values are known and which are no
/// routines.
[[nodiscard]] plan::Region survey_with_bodies(const FamilyProgram& program, const WalkRequest& request, Bodies& bodies,
                                              const record::Forms& forms = {});

/// The labels that a body mentions as numbers, not as subscripts.
[[nodiscard]] std::vector<int> counting_labels(const Body& body);

/// The result's array from the operands' arrays, of which label l has extents[l] elements. Behind the body's own
/// operands come the values of counting labels: `counted[l]` is the operand that holds those of label l, or -1.
[[nodiscard]] ir::algebra::Array evaluated(const Body& body, const std::vector<plan::Index>& extents,
                                           const std::vector<int>& counted, const ir::algebra::Block& operands);

}  // namespace tdsl::codegen
