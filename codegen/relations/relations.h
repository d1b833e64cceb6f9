#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "codegen/relations/bodies.h"
#include "ir/algebra/block.h"
#include "ir/algebra/expr.h"
#include "runtime/plan/value/plan_value.h"

namespace tdsl::codegen {

namespace algebra = ir::algebra;

/// The translation of one operation of a region.
struct RelationStep {
  std::size_t op = 0;  ///< index in the region
  std::vector<algebra::Expr>
      moves;                      ///< the bcasts and shufs made for it, including those of its result and its kept copy
  plan::Index element_bytes = 8;  ///< of the moved relations
  std::string opaque;             ///< why it is not an expression of the algebra; empty if it is
  algebra::Expr value;            ///< its result, if it has one
  algebra::Expr sum;              ///< of an operation that reduces: the first aggregation
  std::vector<std::size_t> slots;  ///< of the task space, per key dimension of the aggregated relation
};

/// A region as tensor relations (ir/algebra/). Tensors are relations whose keys are block coordinates; an operation
/// joins its operands on shared indices, with its computation as the kernel, and aggregates the indices missing in its
/// result. Everything else is an opaque operator. With a plan, every operand is moved to the operation's layout, and
/// partial results to the result's layout (Table 1 of the paper, with layouts of a mesh); at run time each operation
/// fetches its own operands, so two operations may share a move that the run makes twice.
struct Relations {
  std::shared_ptr<algebra::Pool> pool = std::make_shared<algebra::Pool>();
  algebra::Program program;  ///< results: the tensors the region collects or stores; if there are none, the unread ones
  algebra::Mesh mesh;        ///< of the plan; empty without one
  std::vector<RelationStep> steps;  ///< excluding sources and effects
  std::vector<std::string>
      padded;            ///< `line 5, C: 1001 elements as 4 blocks of 251`: shares the algebra cannot express
  algebra::Calls calls;  ///< kernels that are calls, for known bodies
  std::map<std::string, algebra::Tuples> inputs;  ///< index relations, and sources with known bodies
  std::map<plan::TensorId, algebra::Expr> tensors;
  std::set<std::string> generated;  ///< inputs that every site can generate: index relations, a single 1

  /// Floats that arrive at each site for a step; Relations::mesh must have sites. Fetches of opaque operators are not
  /// counted.
  [[nodiscard]] std::vector<algebra::Index> arrivals(const RelationStep& step) const;
};

struct RelationRequest {
  const plan::PlanValue* plan = nullptr;  ///< null: relations without sites
  plan::Index blocks = 1;                 ///< per dimension, unless a plan cuts it or they do not divide it
  bool sites = true;                      ///< true: relations are placed by the plan; false: it only determines cuts
};

[[nodiscard]] Relations relations_of(const plan::Region& region, const Bodies& bodies, const RelationRequest& request);

}  // namespace tdsl::codegen
