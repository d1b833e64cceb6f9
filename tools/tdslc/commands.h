#pragma once

#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

// Every command returns the exit code of tdslc. User errors and compiler bugs are exceptions; see main.cpp.

/// Compiles the program, or finds it in the cache, and runs it; returns its exit code.
[[nodiscard]] int run(const CommandLine& line);
/// Writes an executable.
[[nodiscard]] int build(const CommandLine& line);
/// Prints diagnostics only.
[[nodiscard]] int check(const CommandLine& line);
/// Runs the sequential evaluator.
[[nodiscard]] int eval(const CommandLine& line);
/// Prints the emitted C++.
[[nodiscard]] int emit(const CommandLine& line);
/// Prints plans, predictions and, for one rank, tasks and messages.
[[nodiscard]] int explain(const CommandLine& line);
/// Compares predictions with measured counts.
[[nodiscard]] int compare(const CommandLine& line);
/// Compares executables on several numbers of ranks with the evaluator.
[[nodiscard]] int verify(const CommandLine& line);
/// Writes an HTML page about a run.
[[nodiscard]] int report(const CommandLine& line);
/// Draws an array of a file.
[[nodiscard]] int plot(const CommandLine& line);
/// Lists the pass pipeline, and prints the results of passes on a program.
[[nodiscard]] int passes(const CommandLine& line);
/// Formats files in place.
[[nodiscard]] int format(const CommandLine& line);
/// Builds the program and submits it as a batch job; with --wait returns the job's exit code.
[[nodiscard]] int submit(const CommandLine& line);
/// Replaces this process by the importer of NumPy functions, a Python program. Throws ToolchainError without Python.
[[nodiscard]] int import_function(const CommandLine& line);
/// Makes a folder with a program, its inputs, and files for make, CMake and VS Code, from a template.
[[nodiscard]] int new_program(const CommandLine& line);
/// Lists the MPI libraries found here, and which one ranks would use and why; with --build makes a shim for another
/// one.
[[nodiscard]] int mpi(const CommandLine& line);
/// Serves editors on standard input and output (the Language Server Protocol).
[[nodiscard]] int language_server();
/// Compiles the headers of emitted programs (`tdslc --configure`).
[[nodiscard]] int configure(const CommandLine& line);
/// Prints installed components, and measures the machine constants.
[[nodiscard]] int doctor(const CommandLine& line);

}  // namespace tdsl::tools
