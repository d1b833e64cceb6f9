#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/index/index.h"
#include "frontend/syntax/parsed_files.h"
#include "tools/lsp/rpc.h"

namespace tdsl::lsp {

/// A position of the protocol: line and UTF-16 code unit, both from 0.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t character = 0;
};

/// UTF-16 code units in front of column `column` (from 1) of a line.
[[nodiscard]] std::uint32_t units_before(std::string_view line, std::uint32_t column);
/// The column (from 1) at `units` UTF-16 code units; inside of a pair: its character; behind the line: its end.
[[nodiscard]] std::uint32_t column_at(std::string_view line, std::uint32_t units);

/// "/a b.tdsl" for "file:///a%20b.tdsl"; other schemes keep what follows the scheme.
[[nodiscard]] std::string path_of(const std::string& uri);
[[nodiscard]] std::string uri_of(const std::string& path);

/// Applies one `contentChanges` item to the text. Throws RequestError for a malformed one.
void apply_change(std::string& text, const Json& change);

/// The result of the compiler's check of a program.
struct Checked {
  frontend::SourceManager sources;  ///< file 0 is the program
  frontend::DiagnosticSink sink;
  std::vector<frontend::DeclaredName> names;
  std::shared_ptr<frontend::ParsedFiles> parsed;  ///< of this and earlier versions
};

/// Texts of open documents by path; nullopt: read the file.
using OpenText = std::function<std::optional<std::string>(const std::string& path)>;

/// A request for the plan of a program.
struct PlanQuestion {
  std::string path;
  std::int64_t ranks = 1;
  std::vector<std::string> set;  ///< NAME=VALUE
};

/// Functions and paths of the compiler.
struct Services {
  std::string version;
  std::string library_directory;
  /// The address of a path, as the editor spells it for an open document; set by the server.
  std::function<std::string(const std::string& path)> uri = uri_of;
  /// Checks the program as `tdslc check` does. Exceptions are bugs of the compiler.
  std::function<void(const std::string& path, const OpenText& text, Checked& result)> check;
  /// Plans the program; called in a process of its own. Returns {"lines": [{"line": L, "text": T}], "message": M}.
  std::function<Json(const PlanQuestion& question, const OpenText& text)> plan;
};

/// Check and index of one version of a document.
struct Analysis {
  Checked checked;
  frontend::Index index;
};

/// A document that the editor has open.
struct Document {
  std::string uri;
  std::string path;
  std::int64_t version = 0;
  std::string text;
  std::shared_ptr<frontend::ParsedFiles> parsed = std::make_shared<frontend::ParsedFiles>();
  bool dirty = true;                       ///< changed since the last analysis
  std::shared_ptr<const Analysis> now;     ///< of the text, once it is not dirty
  std::shared_ptr<const Analysis> before;  ///< the last one without syntax errors
  Json plan_lines = Json::array();         ///< of `plan`, for the version `planned`
  std::int64_t planned = -1;
};

/// Checks and indexes a document. Types that a broken program lacks are taken from `before`.
[[nodiscard]] std::shared_ptr<const Analysis> analyse(const Document& document, const Services& services,
                                                      const OpenText& text);

}  // namespace tdsl::lsp
