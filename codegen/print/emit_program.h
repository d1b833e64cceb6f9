#pragma once

#include <set>
#include <string>
#include <string_view>

#include "codegen/print/emit.h"

namespace tdsl::codegen {

/// Comment lines that mark where a `#line` belongs once the text has its final lines.
inline constexpr std::string_view kLineMark = "//@line ";
inline constexpr std::string_view kEndMark = "//@end";

struct EmittedProgram {
  std::string kernels;             ///< one function per operation
  std::string program;             ///< `void program(rt::Session& session)`
  bool uses_file = false;          ///< calls place()
  bool checks_subscripts = false;  ///< calls inside()
  bool uses_routines = false;      ///< calls kernels of runtime/routines
  bool uses_blocked = false;       ///< calls blocked_reduction()
  bool uses_parts = false;         ///< loops over parts of ranges
  bool uses_rows = false;          ///< fused operators
  bool uses_elements = false;      ///< runs loops as tasks
  bool uses_chain = false;         ///< multiplies chains of matrices
  bool uses_tiles = false;         ///< calls kernels of the user's
  bool uses_stored = false;        ///< walks stored elements
  bool uses_rearranged = false;    ///< makes compressed matrices whose elements are those of others
  std::set<std::string> headers;   ///< of the user's
  std::string foreign_calls;       ///< definitions of functions of `fn` that call those of the headers
};
[[nodiscard]] EmittedProgram emit_program(const FamilyProgram& program, const EmitOptions& options);

}  // namespace tdsl::codegen
