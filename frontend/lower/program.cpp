#include "frontend/allowed_warnings.h"
#include "frontend/lower/builtins.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/parsed_files.h"

namespace tdsl::frontend {

namespace {

CallNumbers number_module(const Declarations& declared, const ast::Module& module) {
  const auto is_function = [&](const std::string& name) { return declared.functions.contains(name); };
  return number_calls(is_function, [&](const ExprVisitor& visit) {
    for (const ast::StmtPtr& s : module.statements) for_each_expr(*s, visit);
  });
}

void declare_functions(Lowerer& lowerer, const ast::Module& module, std::uint32_t depth) {
  lowerer.versions.note_differentiated(module);
  const auto declared = [&](const ast::Identifier& name) {
    const auto built_in = builtins().find(name.name);
    if (built_in != builtins().end() && !built_in->second.soft) {
      lowerer.reports.error(DiagnosticId::kBuiltinRedefined, name.range,
                            "`" + name.name + "` is built in and cannot be redefined");
      lowerer.declared.refused.insert(name.name);
      return true;
    }
    const auto function = lowerer.declared.functions.find(name.name);
    const auto monoid = lowerer.declared.monoids.find(name.name);
    const auto foreign = lowerer.declared.foreigns.find(name.name);
    if (function == lowerer.declared.functions.end() && monoid == lowerer.declared.monoids.end() &&
        foreign == lowerer.declared.foreigns.end())
      return false;
    // Calls are ambiguous: do not report them as errors too.
    if (function != lowerer.declared.functions.end()) function->second.broken = true;
    const SourceRange& first = function != lowerer.declared.functions.end() ? function->second.range
                               : monoid != lowerer.declared.monoids.end()   ? monoid->second.monoid->name.range
                                                                            : foreign->second.range;
    lowerer.reports.error(DiagnosticId::kRedeclaration, name.range, "`" + name.name + "` is declared already",
                          {{first, "declared here"}});
    return true;
  };
  for (const ast::StmtPtr& s : module.statements) {
    try {
      const auto* import = std::get_if<ast::Import>(&s->node);
      const ast::Module* added = import == nullptr ? nullptr : lowerer.modules.load(*import, s->range, depth);
      if (added != nullptr) declare_functions(lowerer, *added, depth + 1);
    } catch (const Abandoned&) {
      lowerer.declared.lacks_import = true;
      continue;
    }
    if (const auto* f = std::get_if<ast::Function>(&s->node); f != nullptr && !declared(f->name)) {
      lowerer.declared.functions[f->name.name] = {f, f->name.range, !check_definition(lowerer.reports, *f)};
    }
    if (const auto* m = std::get_if<ast::Monoid>(&s->node); m != nullptr && !declared(m->name)) {
      lowerer.declared.monoids[m->name.name].monoid = m;
    }
    if (const auto* e = std::get_if<ast::Extern>(&s->node)) { declare_extern(lowerer, *e, declared); }
    if (const auto* storage = std::get_if<ast::Storage>(&s->node))
      declare_storage(lowerer.reports, lowerer.declared, *storage);
  }
}

void lower_program(Lowerer& lowerer, const ast::Module& module) {
  lowerer.frames.emplace_back();
  const Names::InScope scope(lowerer.names, Scope::Kind::kBlock);
  declare_functions(lowerer, module, 0);
  if (!calls_fit(lowerer.reports, lowerer.declared)) return;
  lowerer.frames.back().numbers = number_module(lowerer.declared, module);
  declare_late_dimensions(lowerer, module);
  for (const ast::StmtPtr& s : module.statements) lower_statement(lowerer, *s);
  if (!lowerer.reports.sink().is_full()) check_uncalled(lowerer);
}

}  // namespace

void lower_import(Lowerer& lowerer, const ast::Import& import) {
  const ast::Module* module = lowerer.modules.read_by(import);
  if (module == nullptr) return;
  const Restored numbers(lowerer.frames.back().numbers, number_module(lowerer.declared, *module));
  const Restored chain(lowerer.frames.back().chain, stem(import.path) + ":");
  for (const ast::StmtPtr& s : module->statements) {
    if (std::holds_alternative<ast::Let>(s->node) || std::holds_alternative<ast::Param>(s->node) ||
        std::holds_alternative<ast::Import>(s->node))
      lower_statement(lowerer, *s);
  }
}

std::optional<ir::Program> compile(SourceManager& sources, std::uint32_t file, DiagnosticSink& sink,
                                   const CompileOptions& options) {
  const auto module =
      options.parsed != nullptr ? options.parsed->module_of(sources, file, sink) : parse_file(sources, file, sink);
  if (!module) return std::nullopt;
  allow_by_comments(*module, sources, sink);
  ir::Program program;
  program.name = options.program_name.empty() ? stem(sources.name(file)) : options.program_name;
  Lowerer lowerer(sources, sink, options, program, file);
  lower_program(lowerer, *module);
  if (sink.has_errors()) return std::nullopt;
  for (std::uint32_t k = 0; k < sources.file_count(); ++k) program.files.push_back(sources.name(k));
  return program;
}

}  // namespace tdsl::frontend
