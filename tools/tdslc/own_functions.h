#pragma once

#include "tools/tdslc/front.h"

// The user's functions of C++ headers, between frontend, evaluator and C++ compiler.

namespace tdsl::tools {

/// Reads headers for the frontend: what it finds becomes remarks, and the files it reads `Front::headers`.
[[nodiscard]] ir::HeaderReader header_reader_for(Front& front);
/// Compiles the functions for evaluation in this process. Throws codegen::CompilerFailure.
void link_own_functions(const CommandLine& line, const Front& front);
/// The folder that emitted code's includes of headers are relative to; empty if there are none.
[[nodiscard]] std::string include_folder(const CommandLine& line, const Front& front);

}  // namespace tdsl::tools
