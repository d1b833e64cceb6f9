#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/relations/bodies.h"
#include "ir/algebra/evaluate.h"
#include "ir/algebra/expr.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::codegen {

namespace algebra = ir::algebra;

/// What became of one operation of a region.
struct RelationStep {
  std::size_t op = 0;  ///< in the region
  std::vector<algebra::Expr>
      moves;                      ///< the bcasts and shufs made for it, those of its result and its kept copy included
  plan::Index element_bytes = 8;  ///< of what `moves` move
  std::string opaque;             ///< why it is no expression of the algebra; empty if it is
};

/// A region as tensor relations (ir/algebra/). Tensors are relations whose keys are block coordinates; an operation
/// joins its operands on the indices that they share, with what it computes as the kernel, and aggregates the indices
/// that its result lacks. What is none of that is an opaque operator. With a plan, every operand is moved to where the
/// operation works, partial results to where they meet (Table 1 of the paper, with layouts of a mesh); an operation of
/// the run fetches by itself what it needs, so two operations may share a move that the run makes twice.
struct Relations {
  std::shared_ptr<algebra::Pool> pool = std::make_shared<algebra::Pool>();
  algebra::Program program;         ///< results: what the region collects or stores; without any, what nothing reads
  algebra::Mesh mesh;               ///< of the plan; empty without one
  std::vector<RelationStep> steps;  ///< of all but sources and effects
  std::vector<std::string> padded;  ///< `line 5, C: 1001 elements as 4 blocks of 251`: shares the algebra cannot say
  algebra::Calls calls;             ///< kernels that are calls, as far as bodies are known
  std::map<std::string, algebra::Tuples> inputs;  ///< of numbered indices and of sources whose bodies are known
  std::map<plan::TensorId, algebra::Expr> tensors;

  /// Floats that arrive at each site for a step; Relations::mesh must have sites. What opaque operators fetch is not
  /// counted.
  [[nodiscard]] std::vector<algebra::Index> arrivals(const RelationStep& step) const;
};

struct RelationRequest {
  const plan::PlanValue* plan = nullptr;  ///< null: relations without sites
  plan::Index blocks = 1;                 ///< per dimension, where no plan cuts it and they divide it
  bool sites = true;  ///< whether relations lie where the plan says; else it only says how dimensions are cut
};

[[nodiscard]] Relations relations_of(const plan::Region& region, const Bodies& bodies, const RelationRequest& request);

}  // namespace tdsl::codegen
