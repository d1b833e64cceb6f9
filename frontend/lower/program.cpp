#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "frontend/allowed_warnings.h"
#include "frontend/diagnostics/file_names.h"
#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"
#include "frontend/syntax/parse.h"

namespace tdsl::frontend {

namespace {

std::string stem(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const auto dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

Lowerer::Lowerer(SourceManager& sources, DiagnosticSink& sink, const CompileOptions& options, ir::Program& program,
                 std::uint32_t main_file)
    : sources_(sources), sink_(sink), options_(options), graph_(program), main_file_(main_file) {}

void Lowerer::run(const ast::Module& module) {
  frames_.emplace_back();
  const Names::InScope scope(names_, Scope::Kind::kBlock);
  declare_functions(module);
  if (!calls_fit()) return;
  frames_.back().numbers = number_module(module);
  for (const ast::StmtPtr& s : module.statements) lower_statement(*s);
  if (!sink_.is_full()) check_uncalled();
}

CallNumbers Lowerer::number_module(const ast::Module& module) const {
  return number_calls([&](const ExprVisitor& visit) {
    for (const ast::StmtPtr& s : module.statements) for_each_expr(*s, visit);
  });
}

/// The values an imported file declares, where it is imported first. Its random numbers are its own.
void Lowerer::lower_import(const ast::Import& import) {
  const auto found = imports_.find(&import);
  if (found == imports_.end()) return;
  const ast::Module& module = *found->second;
  CallNumbers numbers = std::exchange(frames_.back().numbers, number_module(module));
  std::string chain = std::exchange(frames_.back().chain, stem(import.path) + ":");
  for (const ast::StmtPtr& s : module.statements) {
    if (std::holds_alternative<ast::Let>(s->node) || std::holds_alternative<ast::Param>(s->node) ||
        std::holds_alternative<ast::Import>(s->node))
      lower_statement(*s);
  }
  frames_.back().numbers = std::move(numbers);
  frames_.back().chain = std::move(chain);
}

void Lowerer::declare_functions(const ast::Module& module, std::uint32_t depth) {
  versions_.note_differentiated(module);
  const auto declared = [&](const ast::Identifier& name) {
    if (is_builtin(name.name)) {
      reports_.error(DiagnosticId::kBuiltinRedefined, name.range,
                     "`" + name.name + "` is built in and cannot be redefined");
      declared_.refused.insert(name.name);
      return true;
    }
    const auto function = declared_.functions.find(name.name);
    const auto monoid = declared_.monoids.find(name.name);
    const auto foreign = declared_.foreigns.find(name.name);
    if (function == declared_.functions.end() && monoid == declared_.monoids.end() &&
        foreign == declared_.foreigns.end())
      return false;
    // Which of the two a call means is not known: calls are not errors too.
    if (function != declared_.functions.end()) function->second.broken = true;
    const SourceRange& first = function != declared_.functions.end() ? function->second.range
                               : monoid != declared_.monoids.end()   ? monoid->second.monoid->name.range
                                                                     : foreign->second.range;
    reports_.error(DiagnosticId::kRedeclaration, name.range, "`" + name.name + "` is declared already",
                   {{first, "declared here"}});
    return true;
  };
  for (const ast::StmtPtr& s : module.statements) {
    try {
      if (const auto* import = std::get_if<ast::Import>(&s->node)) import_module(*import, s->range, depth);
    } catch (const Abandoned&) {
      declared_.lacks_import = true;
      continue;
    }
    if (const auto* f = std::get_if<ast::Function>(&s->node); f != nullptr && !declared(f->name)) {
      declared_.functions[f->name.name] = {f, f->name.range, !check_returns(*f)};
    }
    if (const auto* m = std::get_if<ast::Monoid>(&s->node); m != nullptr && !declared(m->name)) {
      declared_.monoids[m->name.name].monoid = m;
    }
    if (const auto* e = std::get_if<ast::Extern>(&s->node)) { declare_extern(*e, declared); }
    if (const auto* storage = std::get_if<ast::Storage>(&s->node)) declare_storage(*storage);
  }
}

namespace {

/// A pipe, a device or a directory: opening a pipe would wait for somebody who writes to it.
bool is_no_regular_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
}

std::optional<std::string> text_of_file(const std::string& path) {
  if (is_no_regular_file(path)) return std::nullopt;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) return std::nullopt;
  return text.str();
}

}  // namespace

void Lowerer::import_module(const ast::Import& import, const SourceRange& range, std::uint32_t depth) {
  if (const auto objection = objection_to_name(import.path))
    reports_.fail(DiagnosticId::kImportFailed, import.path_range, "cannot import: " + *objection);
  std::string path;
  if (import.is_file) {
    path = beside(sources_.name(range.file), import.path);
  } else {
    const std::string prefix = "std.";
    if (!import.path.starts_with(prefix)) {
      reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                    "`" + import.path + "` is not of the library; import std.name or \"file.tdsl\"");
    }
    path = options_.library_directory + "/" + import.path.substr(prefix.size()) + ".tdsl";
  }
  path = std::filesystem::path(path).lexically_normal().string();
  if (path == std::filesystem::path(sources_.name(main_file_)).lexically_normal().string())
    reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                  "the program itself cannot be imported; `" + path + "` is what is being compiled");
  if (!imported_paths_.insert(path).second) return;
  if (depth >= ast::kMaxBlocks)
    reports_.fail(DiagnosticId::kNestingTooDeep, import.path_range,
                  "imports nest more than " + std::to_string(ast::kMaxBlocks) + " deep");
  const auto text = options_.read ? options_.read(path) : text_of_file(path);
  if (!text)
    reports_.fail(DiagnosticId::kImportFailed, import.path_range,
                  "cannot read `" + path + "`" + (is_no_regular_file(path) ? ": it is not a regular file" : ""));
  const std::uint32_t file = sources_.add(path, *text);
  auto module = parse_file(sources_, file, sink_);
  if (!module) throw Abandoned{};
  allow_by_comments(*module, sources_, sink_);
  imported_.push_back(std::make_unique<ast::Module>(std::move(*module)));
  const ast::Module& added = *imported_.back();
  for (const ast::StmtPtr& s : added.statements) {
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
  imports_.emplace(&import, &added);
  declare_functions(added, depth + 1);
}

std::optional<ir::Program> compile(SourceManager& sources, std::uint32_t file, DiagnosticSink& sink,
                                   const CompileOptions& options) {
  const auto module = parse_file(sources, file, sink);
  if (!module) return std::nullopt;
  allow_by_comments(*module, sources, sink);
  ir::Program program;
  program.name = options.program_name.empty() ? stem(sources.name(file)) : options.program_name;
  Lowerer lowerer(sources, sink, options, program, file);
  lowerer.run(*module);
  if (sink.has_errors()) return std::nullopt;
  for (std::uint32_t k = 0; k < sources.file_count(); ++k) program.files.push_back(sources.name(k));
  return program;
}

}  // namespace tdsl::frontend
