#pragma once

#include "tools/tdslc/front.h"

// The user's C++ header functions, as seen by frontend, evaluator and C++ compiler.

namespace tdsl::tools {

/// Reads headers for the frontend: adds remarks about the functions found, and adds files to `Front::headers`.
[[nodiscard]] ir::HeaderReader header_reader_for(Front& front);
/// Compiles the functions and loads them into this process for evaluation. Throws codegen::CompilerFailure.
void link_own_functions(const CommandLine& line, const Front& front);
/// The folder to which header paths in emitted code are relative; empty if there are none.
[[nodiscard]] std::string include_folder(const CommandLine& line, const Front& front);

}  // namespace tdsl::tools
