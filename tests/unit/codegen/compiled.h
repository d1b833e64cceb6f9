#pragma once

#include <cstdio>
#include <fstream>
#include <string>

#include "tools/build/process.h"

namespace tdsl::codegen::testing {

/// Compiler messages for emitted code; empty if there are none.
inline std::string compiler_says(const std::string& source) {
  const std::string path = "codegen_emit_test_program.cpp";
  std::ofstream(path) << source;
  const ProcessResult r = run_process({{"c++", "-std=c++20", "-O1", "-fopenmp", "-fsyntax-only", "-Wall", "-Wextra",
                                        "-Wconversion", "-Werror", "-I", TDSL_SOURCE_DIR, path},
                                       {},
                                       true});
  std::remove(path.c_str());
  return r.exit_code == 0 ? "" : r.output + "\n" + source;
}

}  // namespace tdsl::codegen::testing
