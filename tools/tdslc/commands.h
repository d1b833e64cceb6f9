#pragma once

#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

// Every command returns the exit code of tdslc. Mistakes of users and of the compiler leave as exceptions; see
// main.cpp.

/// Compiles (or finds in the cache) and runs the program; returns the program's exit code.
[[nodiscard]] int run(const CommandLine& line);
/// Writes an executable.
[[nodiscard]] int build(const CommandLine& line);
/// Diagnostics only.
[[nodiscard]] int check(const CommandLine& line);
/// The sequential evaluator.
[[nodiscard]] int eval(const CommandLine& line);
/// The emitted C++.
[[nodiscard]] int emit(const CommandLine& line);
/// Plans, predictions and, of one rank, tasks and messages.
[[nodiscard]] int explain(const CommandLine& line);
/// What was foreseen against what was counted.
[[nodiscard]] int compare(const CommandLine& line);
/// Executables on several numbers of ranks against the evaluator.
[[nodiscard]] int verify(const CommandLine& line);
/// A page that shows a run.
[[nodiscard]] int report(const CommandLine& line);
/// The pipeline and what the passes made of a program.
[[nodiscard]] int passes(const CommandLine& line);
/// Files in canonical layout, in place.
[[nodiscard]] int format(const CommandLine& line);
/// Builds the program and submits it as a batch job; with --wait the job's exit code.
[[nodiscard]] int submit(const CommandLine& line);
/// What is installed, and the machine's constants.
[[nodiscard]] int doctor(const CommandLine& line);

}  // namespace tdsl::tools
