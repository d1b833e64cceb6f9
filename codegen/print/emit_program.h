#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/print/emit.h"
#include "codegen/print/needs.h"

namespace tdsl::codegen {

/// Comment lines that mark where a `#line` belongs once the text has its final lines.
inline constexpr std::string_view kLineMark = "//@line ";
inline constexpr std::string_view kEndMark = "//@end";

struct EmittedProgram {
  std::vector<std::string> kernels{};  ///< one function per operation, by source file
  std::vector<std::string> makers{};  ///< by source file: functions that make kernels; of the first, their declarations
  std::string program;                ///< `void program(rt::Session& session)`
  Needs needs;                        ///< of both
  std::set<std::string> headers;      ///< of the user's
  std::string foreign_calls;          ///< definitions of functions of `fn` that call those of the headers
  EmitCounts counts;
  double weight = 0;  ///< KernelFunctions::weight
};
/// `units`: the number of source files.
[[nodiscard]] EmittedProgram emit_program(const OperationProgram& program, const EmitOptions& options,
                                          std::size_t units = 1);

}  // namespace tdsl::codegen
