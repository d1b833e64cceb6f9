#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/families.h"
#include "runtime/plan/factorise.h"
#include "runtime/plan/planner.h"

namespace tdsl::codegen {

struct PlanWalkRequest {
  plan::PlanInputs inputs;
  std::map<std::string, ir::Literal> params;
  std::map<std::string, std::int64_t> dimensions;
  std::set<std::string> files;          ///< outputs that go to a file
  plan::Factorise factorise = plan::Factorise::kAuto;
  std::int64_t loop_limit = 1000;       ///< iterations of one loop that are followed
};

struct PlanWalkEvents {
  /// Every planned operation in order; `planner` knows its operands and its output; `dead` are tensors whose last name is
  /// dropped and that it is the last to mention.
  std::function<void(const plan::PlannedOp&, const plan::Planner& planner, const std::vector<plan::TensorId>& dead)> planned;
  /// The program has dropped its last name for the tensor, and nothing will mention it any more.
  std::function<void(plan::TensorId)> dropped;
  /// Something is not followed as it would run: data-dependent control.
  std::function<void(SourceRange, const std::string&)> note;
};

struct PlanWalkResult {
  std::uint64_t plan_hash = 0;
  plan::Index largest_step = 0;
  plan::MemoryNeed memory;  ///< under a memory limit
};

/// Records, plans and drops what the executable would, with numbers for sizes, and computes nothing. Control that depends
/// on data is followed once: one iteration of a `while`, the first branch of an `if`; a note says so.
/// Throws rt::RunError for sizes that clash, and for sizes and loop bounds that depend on data.
[[nodiscard]] PlanWalkResult walk_plan(const FamilyProgram& program, const PlanWalkRequest& request, const PlanWalkEvents& events);

/// The operation with numbers for all extents; `tensor` numbers its operands.
[[nodiscard]] plan::Op instantiate(const OpTemplate& op, int line, const std::function<std::int64_t(const Extent&)>& number,
                                   const std::function<plan::TensorId(ValueId)>& tensor);

}  // namespace tdsl::codegen
