#include "codegen/clang/format.h"
#include "codegen/clang/header_reader.h"
#include "codegen/plugin/clang.h"

/// The symbol kClangEntry of codegen/plugin.
extern "C" __attribute__((visibility("default"))) const tdsl::codegen::ClangFunctions* tdsl_clang_1() {
  static constexpr tdsl::codegen::ClangFunctions functions{tdsl::codegen::clang_formatted,
                                                           tdsl::codegen::clang_read_header};
  return &functions;
}
