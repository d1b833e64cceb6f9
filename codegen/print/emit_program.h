#pragma once

#include <set>
#include <string>
#include <string_view>

#include "codegen/print/emit.h"
#include "codegen/print/needs.h"

namespace tdsl::codegen {

/// Comment lines that mark where a `#line` belongs once the text has its final lines.
inline constexpr std::string_view kLineMark = "//@line ";
inline constexpr std::string_view kEndMark = "//@end";

struct EmittedProgram {
  std::string kernels;            ///< one function per operation
  std::string program;            ///< `void program(rt::Session& session)`
  Needs needs;                    ///< of both
  std::set<std::string> headers;  ///< of the user's
  std::string foreign_calls;      ///< definitions of functions of `fn` that call those of the headers
  EmitCounts counts;
};
[[nodiscard]] EmittedProgram emit_program(const OperationProgram& program, const EmitOptions& options);

}  // namespace tdsl::codegen
