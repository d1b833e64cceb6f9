#include "frontend/allowed_warnings.h"
#include "frontend/lower/lowerer.h"
#include "frontend/sema/walk.h"
#include "frontend/syntax/parse.h"

namespace tdsl::frontend {

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
  const ast::Module* module = modules_.read_by(import);
  if (module == nullptr) return;
  const Restored numbers(frames_.back().numbers, number_module(*module));
  const Restored chain(frames_.back().chain, stem(import.path) + ":");
  for (const ast::StmtPtr& s : module->statements) {
    if (std::holds_alternative<ast::Let>(s->node) || std::holds_alternative<ast::Param>(s->node) ||
        std::holds_alternative<ast::Import>(s->node))
      lower_statement(*s);
  }
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
      const auto* import = std::get_if<ast::Import>(&s->node);
      const ast::Module* added = import == nullptr ? nullptr : modules_.load(*import, s->range, depth);
      if (added != nullptr) declare_functions(*added, depth + 1);
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
