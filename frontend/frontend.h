#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "frontend/diagnostics/diagnostics.h"
#include "ir/graph/foreign_header.h"
#include "ir/graph/graph.h"

namespace tdsl::frontend {

class ParsedFiles;

/// A declared name and its inferred type, such as "f64[n, m]". `value` is that of an integer known when compiling.
struct DeclaredName {
  std::string name;
  SourceRange range;
  std::string type;
  std::string value = {};
};

struct CompileOptions {
  std::string program_name;       ///< file name without directory and extension; empty: derived from the file's name
  std::string library_directory;  ///< directory in which `import std.x;` finds `x.tdsl`; empty: no library
  bool warn_unused = true;        ///< warn about unused names
  /// Texts that stand in place of imported files, such as unsaved ones; asked before `read`.
  std::function<std::optional<std::string>(const std::string& path)> replaced = {};
  /// Returns the text of an imported file, or nullopt; default: reads files.
  std::function<std::optional<std::string>(const std::string& path)> read = {};
  ParsedFiles* parsed = nullptr;  ///< parses files, for the index or later versions too; null: none
  /// Parses the headers of `extern`; default: headers are not parsed, and their functions may have any effect.
  ir::HeaderReader read_header = {};
  std::function<void(const ir::ForeignRef&)> foreign = {};  ///< called for every function of a header
  std::function<void(const DeclaredName&)> declared = {};   ///< called for every variable, param, input and output
  /// Called for names in expressions, with the places of the name and of its declaration.
  std::function<void(const SourceRange& use, const SourceRange& declaration)> resolved = {};
};

/// Parses the file, resolves names, infers types and shapes, and builds the index graph. Diagnostics go to `sink`; the
/// result is empty if the program has errors. Derivatives are Gradient nodes (passes/algebra/differentiate.cpp). Adds
/// imported files to `sources`.
[[nodiscard]] std::optional<ir::Program> compile(SourceManager& sources, std::uint32_t file, DiagnosticSink& sink,
                                                 const CompileOptions& options = {});

}  // namespace tdsl::frontend
