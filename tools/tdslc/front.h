#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "codegen/families.h"
#include "frontend/diagnostics.h"
#include "ir/graph.h"
#include "passes/pass_context.h"
#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

/// The user's program cannot be compiled; everything has been printed. tdslc exits with 1.
struct ProgramErrors {};
/// A mistake on the command line (exit code 2).
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A program on its way, and what messages about it need.
struct Front {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  ir::Program graph;      ///< as the frontend made it
  ir::Program optimised;  ///< after the passes
  passes::PassContext context;
};

struct FrontOptions {
  bool warnings = true;     ///< print warnings of frontend and passes
  bool run_passes = true;
};

/// Parses, checks and optimises line.program; prints diagnostics to stderr. Throws ProgramErrors.
void compile_front(const CommandLine& line, const FrontOptions& options, Front& front);

/// Lowers to task families and prints their warnings. Throws ProgramErrors for what is not supported yet.
[[nodiscard]] codegen::FamilyProgram lower(const Front& front, bool warnings = true);

/// `file:line:col: severity: message [id]` with the source line and a caret.
void print_message(const frontend::SourceManager& sources, const ir::SourceRange& range, std::string_view severity,
                   const std::string& message, const std::string& id);

/// "product" for "dir/product.tdsl".
[[nodiscard]] std::string program_name(const std::string& path);
/// The emitted C++.
[[nodiscard]] std::string emitted(const CommandLine& line, const Front& front, const codegen::FamilyProgram& families, bool line_directives);

/// "1.5 MB" style number for people: 3 digits, unit of 1000.
[[nodiscard]] std::string human_bytes(double bytes);
[[nodiscard]] std::string human_count(double count);

}  // namespace tdsl::tools
