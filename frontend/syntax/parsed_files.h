#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"
#include "frontend/syntax/parse.h"

namespace tdsl::frontend {

/// The parsed files of a program, by number. A file is parsed again only if its text has changed: compilation and index
/// share syntax trees, and an edit of a program leaves those of its imports.
class ParsedFiles {
 public:
  /// Also after errors.
  [[nodiscard]] std::shared_ptr<const ParsedText> of(const SourceManager& sources, std::uint32_t file);
  /// Like parse_file.
  [[nodiscard]] std::optional<ast::Module> module_of(const SourceManager& sources, std::uint32_t file,
                                                     DiagnosticSink& sink);

 private:
  struct Known {
    std::string text;
    std::shared_ptr<const ParsedText> parsed;
  };
  std::map<std::uint32_t, Known> files_;
};

}  // namespace tdsl::frontend
