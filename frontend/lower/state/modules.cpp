#include "frontend/lower/state/modules.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "frontend/allowed_warnings.h"
#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/parsed_files.h"

namespace tdsl::frontend {

namespace {

/// True for a pipe, device or directory: opening a pipe would block until it has a writer.
bool is_no_regular_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

std::optional<std::string> text_of_file(const std::string& path) {
  if (is_no_regular_file(path)) return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return std::nullopt;
  return text.str();
}

std::optional<std::string> import_path(const ast::Import& import, const std::string& importer,
                                       const std::string& library_directory) {
  constexpr std::string_view kLibrary = "std.";
  if (!import.is_file && !import.path.starts_with(kLibrary)) return std::nullopt;
  const std::string path = import.is_file ? beside(importer, import.path)
                                          : library_directory + "/" + import.path.substr(kLibrary.size()) + ".tdsl";
  return std::filesystem::path(path).lexically_normal().string();
}

std::string beside(const std::string& file, const std::string& path) {
  const auto slash = file.rfind('/');
  const bool absolute = !path.empty() && path[0] == '/';
  return absolute || slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

std::string stem(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

const ast::Module* Modules::load(const ast::Import& import, const SourceRange& range, std::uint32_t depth) {
  if (const auto objection = objection_to_name(import.path))
    reports_.fail(DiagnosticId::kImportFailed, import.path_range, "cannot import: " + *objection);
  const auto found = import_path(import, sources_.name(range.file), options_.library_directory);
  if (!found)
    reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                  "`" + import.path + "` is not of the library; import std.name or \"file.tdsl\"");
  const std::string& path = *found;
  if (path == std::filesystem::path(sources_.name(main_file_)).lexically_normal().string())
    reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                  "the program itself cannot be imported; `" + path + "` is the file being compiled");
  if (!paths_.insert(path).second) return nullptr;
  if (depth >= ast::kMaxBlocks)
    reports_.fail(DiagnosticId::kNestingTooDeep, import.path_range,
                  "imports nest more than " + std::to_string(ast::kMaxBlocks) + " deep");
  auto text = options_.replaced ? options_.replaced(path) : std::nullopt;
  if (!text) text = options_.read ? options_.read(path) : text_of_file(path);
  if (!text)
    reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                  "cannot read `" + path + "`" + (is_no_regular_file(path) ? ": it is not a regular file" : ""));
  const std::uint32_t file = sources_.add(path, *text);
  if (!import.is_file) library_.insert(file);
  auto module = options_.parsed != nullptr ? options_.parsed->module_of(sources_, file, reports_.sink())
                                           : parse_file(sources_, file, reports_.sink());
  if (!module) throw Abandoned{};
  allow_by_comments(*module, sources_, reports_.sink());
  for (const ast::StmtPtr& s : module->statements) {
    const auto* let = std::get_if<ast::Let>(&s->node);
    const bool allowed = std::holds_alternative<ast::Function>(s->node) ||
                         std::holds_alternative<ast::Monoid>(s->node) || std::holds_alternative<ast::Extern>(s->node) ||
                         std::holds_alternative<ast::Import>(s->node) ||
                         std::holds_alternative<ast::Storage>(s->node) || std::holds_alternative<ast::Param>(s->node) ||
                         (let != nullptr && !let->is_mutable);
    if (!allowed)
      reports_.unsupported(s->range,
                           "an imported file with other than functions, monoids, extern, storage, params and `let` is");
  }
  return &imports_.emplace(&import, std::move(*module)).first->second;
}

const ast::Module* Modules::read_by(const ast::Import& import) const {
  const auto found = imports_.find(&import);
  return found == imports_.end() ? nullptr : &found->second;
}

}  // namespace tdsl::frontend
