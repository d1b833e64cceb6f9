#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/families/families.h"
#include "frontend/diagnostics/diagnostics.h"
#include "frontend/frontend.h"
#include "ir/graph/graph.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "runtime/app/run/run_files.h"
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
  ir::Program graph;      ///< as the frontend made it, derivatives included
  ir::Program optimised;  ///< after the passes
  passes::PassContext context;
  std::vector<ir::ForeignRef> foreigns;  ///< functions of C++ headers
  std::vector<std::string> headers;      ///< the user's C++ files
  std::size_t shown = 0;                 ///< diagnostics of `sink` that have been printed
};

struct FrontOptions {
  bool print = true;  ///< diagnostics go to stderr; else they wait in `Front::sink`
  bool run_passes = true;
  std::function<void(const frontend::DeclaredName&)> declared = {};  ///< hears of every name and its type
};

/// The text of a program. Throws UsageError.
[[nodiscard]] std::string read_program(const std::string& path);

/// Which passes run. Throws UsageError for one that does not exist.
[[nodiscard]] passes::PipelineOptions pipeline_options(const CommandLine& line);
/// Parses, checks and optimises line.program. Throws ProgramErrors.
void compile_front(const CommandLine& line, const FrontOptions& options, Front& front);
/// front.graph after the passes. Throws ProgramErrors for what one of them cannot do.
[[nodiscard]] ir::Program run_passes(Front& front, const passes::PipelineOptions& options, bool print = true);
/// front.graph with nodes in place of derivatives: what the evaluator runs. Throws ProgramErrors.
[[nodiscard]] ir::Program differentiated(Front& front);

/// Lowers to task families. Throws ProgramErrors for what is not supported yet.
[[nodiscard]] codegen::FamilyProgram lower(Front& front, bool print = true);

/// Adds the warnings of the passes to the sink.
void add_pass_warnings(Front& front);
/// Prints what has come into the sink since the last time, in the order of the text.
void print_diagnostics(Front& front);

/// "product" for "dir/product.tdsl".
[[nodiscard]] std::string program_name(const std::string& path);
/// The emitted C++.
[[nodiscard]] std::string emitted(const CommandLine& line, const Front& front, const codegen::FamilyProgram& families,
                                  bool line_directives, const std::string& library = {});

/// The files of the program's text as files that are not to be written.
[[nodiscard]] rt::RunFiles kept_files(const Front& front);

/// "1.5 MB" style number for people: 3 digits, unit of 1000.
[[nodiscard]] std::string human_bytes(double bytes);
[[nodiscard]] std::string human_count(double count);

}  // namespace tdsl::tools
