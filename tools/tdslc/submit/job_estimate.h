#pragma once

#include <cstdint>
#include <optional>

#include "tools/tdslc/front.h"
#include "tools/tdslc/job/size.h"

namespace tdsl::tools {

/// What the planner says of the program with line.program_arguments, on ranks. `trips`: how often loops run whose trip
/// count comes from data. Refers to the families. Sizes come from the headers of the input files; throws as `explain`
/// does.
[[nodiscard]] JobEstimator estimator_of(const CommandLine& line, const Front& front,
                                        const codegen::FamilyProgram& families, const Site& site,
                                        std::optional<std::int64_t> trips);

}  // namespace tdsl::tools
