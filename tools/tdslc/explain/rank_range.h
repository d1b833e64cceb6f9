#pragma once

#include <string>

#include "codegen/operations/program.h"
#include "runtime/app/options/options.h"
#include "tools/tdslc/command_line.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

/// `explain -n A..B`: the smallest number of nodes on which the program fits, found by bisection, and a row for A, for
/// each power of two of nodes between, and for B. A node has --per-node ranks (default 1) and the memory of the site's
/// profile, otherwise 64 GiB; with --memory, each rank has that much instead. Nothing is computed. Throws UsageError
/// for options that ask about a single number of ranks, otherwise as make_report.
[[nodiscard]] std::string rank_range_text(const CommandLine& line, const Front& front,
                                          const codegen::OperationProgram& operations, const rt::AppOptions& options);

}  // namespace tdsl::tools
