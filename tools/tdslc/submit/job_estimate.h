#pragma once

#include <cstdint>
#include <optional>

#include "tools/tdslc/front.h"
#include "tools/tdslc/job/size.h"

namespace tdsl::tools {

/// The planner's estimates for the program with line.program_arguments. `trips`: trip count of data-dependent loops.
/// Keeps a reference to the operations. Sizes come from the headers of the input files; throws like `explain`.
[[nodiscard]] JobEstimator estimator_of(const CommandLine& line, const Front& front,
                                        const codegen::OperationProgram& operations, const Site& site,
                                        std::optional<std::int64_t> trips);

}  // namespace tdsl::tools
