#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/operations/program.h"
#include "codegen/print/emit.h"
#include "frontend/diagnostics/diagnostics.h"
#include "frontend/frontend.h"
#include "ir/graph/graph.h"
#include "passes/pass_context.h"
#include "passes/pipeline.h"
#include "runtime/app/run/run_files.h"
#include "tools/tdslc/command_line.h"

namespace tdsl::tools {

/// The user's program cannot be compiled; all messages have been printed. tdslc exits with 1.
struct ProgramErrors {};
/// A command line error (exit code 2).
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A program in compilation, with the context of its messages.
struct Front {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  ir::Program graph;      ///< from the frontend, including derivatives
  ir::Program optimised;  ///< after the passes
  passes::PassContext context;
  std::vector<ir::ForeignRef> foreigns;  ///< functions of C++ headers
  std::vector<std::string> headers;      ///< the user's C++ files
  std::size_t shown = 0;                 ///< number of diagnostics in `sink` already printed
};

struct FrontOptions {
  bool print = true;  ///< prints diagnostics to stderr; otherwise they remain in `Front::sink`
  bool run_passes = true;
  std::function<void(const frontend::DeclaredName&)> declared = {};  ///< called for every declared name with its type
  /// Texts that stand in place of files, such as unsaved ones.
  std::function<std::optional<std::string>(const std::string& path)> text = {};
  std::function<void(std::string_view pass, double seconds)> after_pass = {};
  frontend::ParsedFiles* parsed = nullptr;  ///< as in CompileOptions
  bool verify_each = true;                  ///< as in PipelineOptions
};

/// Text of a program. Throws UsageError.
[[nodiscard]] std::string read_program(const std::string& path);

/// The selected passes. Throws UsageError for unknown passes.
[[nodiscard]] passes::PipelineOptions pipeline_options(const CommandLine& line);
/// Parses, checks and optimises line.program. Throws ProgramErrors.
void compile_front(const CommandLine& line, const FrontOptions& options, Front& front);
/// front.graph after the passes. Throws ProgramErrors if a pass does not support it.
[[nodiscard]] ir::Program run_passes(Front& front, const passes::PipelineOptions& options, bool print = true);
/// front.graph with derivatives expanded: the evaluator's input. Throws ProgramErrors.
[[nodiscard]] ir::Program differentiated(Front& front);

/// Lowers to task operations. Throws ProgramErrors for unsupported constructs.
[[nodiscard]] codegen::OperationProgram lower(Front& front, bool print = true);

/// Adds the warnings of the passes to the sink.
void add_pass_warnings(Front& front);
/// Prints the diagnostics added since the last call, in source order.
void print_diagnostics(Front& front);

/// "product" for "dir/product.tdsl".
[[nodiscard]] std::string program_name(const std::string& path);
/// The emitted C++.
[[nodiscard]] std::string emitted(const CommandLine& line, const Front& front,
                                  const codegen::OperationProgram& operations, bool line_directives,
                                  const std::string& library = {}, codegen::EmitCounts* counts = nullptr);
/// The same, with #line, as up to `jobs` source files.
[[nodiscard]] std::vector<std::string> emitted_units(const CommandLine& line, const Front& front,
                                                     const codegen::OperationProgram& operations, int jobs,
                                                     codegen::EmitCounts* counts = nullptr);

/// The program's source files, protected from being overwritten.
[[nodiscard]] rt::RunFiles kept_files(const Front& front);

/// Formats a number of bytes like "1.5 MB": 3 digits, decimal units.
[[nodiscard]] std::string human_bytes(double bytes);
[[nodiscard]] std::string human_count(double count);

/// Declarations that determine the executable's command line, so that tdslc parses program options exactly as it does.
[[nodiscard]] rt::ProgramDeclaration declaration_of(const ir::Program& program);
/// A command line value as an IR constant.
[[nodiscard]] ir::Literal literal_of(const rt::ScalarValue& value);

// The user's C++ header functions, as seen by frontend, evaluator and C++ compiler.

/// Reads headers for the frontend: adds remarks about the functions found, and adds files to `Front::headers`.
[[nodiscard]] ir::HeaderReader header_reader_for(Front& front);
/// Compiles the functions and loads them into this process for evaluation. Throws codegen::CompilerFailure.
void link_own_functions(const CommandLine& line, const Front& front);
/// The folder to which header paths in emitted code are relative; empty if there are none.
[[nodiscard]] std::string include_folder(const CommandLine& line, const Front& front);

}  // namespace tdsl::tools
