#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "frontend/frontend.h"
#include "frontend/lower/state/reports.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The imported files, each loaded once.
class Modules {
 public:
  Modules(SourceManager& sources, Reports& reports, const CompileOptions& options, std::uint32_t main_file)
      : sources_(sources), reports_(reports), options_(options), main_file_(main_file) {}

  /// Loads the file; null if another import has loaded it. `depth`: length of the chain of imports to this one.
  const ast::Module* load(const ast::Import& import, const SourceRange& range, std::uint32_t depth);
  /// The module that this import loaded, else null.
  [[nodiscard]] const ast::Module* read_by(const ast::Import& import) const;
  /// True for a file of the standard library.
  [[nodiscard]] bool is_library(std::uint32_t file) const { return library_.contains(file); }

 private:
  SourceManager& sources_;
  Reports& reports_;
  const CompileOptions& options_;
  std::uint32_t main_file_;
  std::map<const ast::Import*, ast::Module> imports_;
  std::set<std::string> paths_;
  std::set<std::uint32_t> library_;  ///< files imported as std.NAME
};

/// The path of an imported file; `importer` is the path of the importing one. Nullopt for `import` of other than
/// std.NAME.
[[nodiscard]] std::optional<std::string> import_path(const ast::Import& import, const std::string& importer,
                                                     const std::string& library_directory);
/// The text of a regular file; nullopt if it cannot be read.
[[nodiscard]] std::optional<std::string> text_of_file(const std::string& path);
/// `path` relative to the working directory, given relative to `file`.
[[nodiscard]] std::string beside(const std::string& file, const std::string& path);
/// The file name without directory and extension.
[[nodiscard]] std::string stem(const std::string& path);

}  // namespace tdsl::frontend
