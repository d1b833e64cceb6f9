#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "frontend/frontend.h"
#include "frontend/lower/state/reports.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The imported files, each read once.
class Modules {
 public:
  Modules(SourceManager& sources, Reports& reports, const CompileOptions& options, std::uint32_t main_file)
      : sources_(sources), reports_(reports), options_(options), main_file_(main_file) {}

  /// Reads the file; null if another import has read it. `depth`: how many imports lead to this one.
  const ast::Module* load(const ast::Import& import, const SourceRange& range, std::uint32_t depth);
  /// The module that this import was the first to read, else null.
  [[nodiscard]] const ast::Module* read_by(const ast::Import& import) const;

 private:
  SourceManager& sources_;
  Reports& reports_;
  const CompileOptions& options_;
  std::uint32_t main_file_;
  std::map<const ast::Import*, ast::Module> imports_;
  std::set<std::string> paths_;
};

/// `path` as written in `file`, seen from the working directory.
[[nodiscard]] std::string beside(const std::string& file, const std::string& path);
/// The name of the file without folder and extension.
[[nodiscard]] std::string stem(const std::string& path);

}  // namespace tdsl::frontend
