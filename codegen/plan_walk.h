#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/families.h"
#include "runtime/plan/factorise.h"
#include "runtime/record/recorder.h"

namespace tdsl::codegen {

struct WalkRequest {
  plan::Index ranks = 1;
  plan::Index deciding_ranks = 1;  ///< plan::PlanInputs::deciding_ranks
  std::map<std::string, ir::Literal> params;
  std::map<std::string, std::int64_t> dimensions;
  std::set<std::string> files;  ///< outputs that go to a file
  plan::Factorise factorise = plan::Factorise::kAuto;
  std::int64_t loop_limit = 1000;  ///< iterations of one loop that are followed
  /// Something is not followed as it would run (data-dependent control), or would be said by the run.
  std::function<void(SourceRange, const std::string&)> note = [](SourceRange, const std::string&) {};
};

/// Records and drops what the executable would, with numbers for sizes, and computes nothing. Control that depends on data is
/// followed once: one iteration of a `while`, the first branch of an `if`; a note says so.
/// Throws rt::RunError for sizes that clash, and for sizes and loop bounds that depend on data.
void walk_program(const FamilyProgram& program, const WalkRequest& request, record::Recorder& recorder);

/// The operation with numbers for all extents; `tensor` numbers its operands.
[[nodiscard]] plan::Op instantiate(const OpTemplate& op, int line, const std::function<std::int64_t(const Extent&)>& number,
                                   const std::function<plan::TensorId(ValueId)>& tensor);

}  // namespace tdsl::codegen
