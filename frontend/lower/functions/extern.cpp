#include "frontend/lower/lowering.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/sema/types.h"
#include "ir/graph/procedure.h"

namespace tdsl::frontend {

using ir::Foreign;

namespace {

/// The path of `header` for an include in the folder of `program`.
std::string seen_from(const std::string& program, const std::string& header) {
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  const std::string relative = std::filesystem::path(header).lexically_relative(folder.empty() ? "." : folder).string();
  return relative.empty() ? header : relative;
}

/// The header as a source, loaded for its first diagnostic.
std::uint32_t file_of(SourceManager& sources, const std::string& path) {
  for (std::uint32_t k = 0; k < sources.file_count(); ++k) {
    if (sources.name(k) == path) return k;
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return sources.add(path, text.str());
}

DiagnosticId id_of(ir::HeaderProblem::Kind kind) {
  using Kind = ir::HeaderProblem::Kind;
  switch (kind) {
    case Kind::kUnreadable: return DiagnosticId::kHeaderUnreadable;
    case Kind::kSignature: return DiagnosticId::kHeaderMismatch;
    case Kind::kEffect: return DiagnosticId::kHeaderEffect;
    case Kind::kOperand: return DiagnosticId::kHeaderOperand;
  }
  return DiagnosticId::kHeaderUnreadable;
}

std::optional<Scalar> foreign_type(Reports& reports, const ast::TypeExpr& type, const std::string& what,
                                   bool is_scalar) {
  if (is_scalar && !type.dimensions.empty()) {
    reports.error(DiagnosticId::kTypeMismatch, type.range,
                  what + " is a scalar: the function is applied per element; of tensors take `kernel`");
    return std::nullopt;
  }
  const bool sparse =
      type.sparse || std::ranges::any_of(type.dimensions, [](const ast::Dimension& d) { return d.sparse; });
  if (sparse) {
    reports.sink().unsupported(DiagnosticId::kNotSupported, type.range,
                               "sparse storage in `extern` is not supported yet");
    return std::nullopt;
  }
  if (ir::is_half(type.scalar)) {
    reports.sink().unsupported(DiagnosticId::kNotSupported, type.range,
                               std::string(ir::name_of(type.scalar)) + " in `extern` is not supported; write f32");
    return std::nullopt;
  }
  return type.scalar;
}

std::optional<Foreign> signature(Reports& reports, const ast::ExternFunction& f) {
  Foreign made;
  made.name = f.name.name;
  for (const ast::FunctionParameter& p : f.parameters) {
    if (!p.type) {
      reports.error(DiagnosticId::kTypeMismatch, p.name.range,
                    "a parameter of a C++ function needs its type: " + p.name.name + ": f64");
      return std::nullopt;
    }
    const auto type = foreign_type(reports, *p.type, "the parameter `" + p.name.name + "`", true);
    if (!type) return std::nullopt;
    made.parameters.push_back({p.name.name, *type, 0, false, false});
  }
  if (f.results.size() != 1) {
    reports.error(DiagnosticId::kTypeMismatch, f.name.range,
                  "a C++ function gives one scalar: fn " + f.name.name + "(…) -> f64");
    return std::nullopt;
  }
  const auto result = foreign_type(reports, f.results[0], "the result of `" + f.name.name + "`", true);
  if (result) made.result = *result;
  return result ? std::optional(std::move(made)) : std::nullopt;
}

std::optional<Foreign> signature(Reports& reports, const ast::ExternKernel& k) {
  Foreign made;
  made.name = k.name.name;
  made.is_kernel = true;
  bool gives = false;
  for (const ast::KernelParameter& p : k.parameters) {
    const auto type = foreign_type(reports, p.type, "", false);
    if (!type) return std::nullopt;
    if (p.type.dimensions.size() > 8) {
      reports.error(DiagnosticId::kRankMismatch, p.type.range, "a tensor has at most 8 dimensions");
      return std::nullopt;
    }
    gives = gives || p.is_output;
    made.parameters.push_back({p.name.name, *type, p.type.dimensions.size(), p.is_output, p.is_output});
  }
  if (!gives) {
    reports.error(DiagnosticId::kTypeMismatch, k.name.range, "a kernel needs an `out` operand for its result");
    return std::nullopt;
  }
  return made;
}

/// The signature of a kernel as a function.
std::shared_ptr<const ast::Function> as_function(const ast::ExternKernel& k) {
  auto f = std::make_shared<ast::Function>();
  f->name = k.name;
  for (const ast::KernelParameter& p : k.parameters) {
    if (p.is_output) {
      f->results.push_back(p.type);
    } else {
      f->parameters.push_back({p.name, p.type});
    }
  }
  return f;
}

std::shared_ptr<const ast::Function> as_function(const ast::ExternFunction&) { return nullptr; }

const ast::TypeExpr& type_of(const ast::KernelParameter& p) { return p.type; }

const ast::TypeExpr& type_of(const ast::FunctionParameter& p) { return *p.type; }

void report(Reports& reports, SourceManager& sources, const ir::HeaderProblem& problem, const ast::Extern& e,
            const std::vector<SourceRange>& places) {
  const bool about_one = problem.declaration >= 0 && static_cast<std::size_t>(problem.declaration) < places.size();
  const SourceRange& declaration = about_one ? places[static_cast<std::size_t>(problem.declaration)] : e.header_range;
  if (problem.file.empty()) return reports.error(id_of(problem.kind), declaration, problem.message);
  const std::uint32_t file = file_of(sources, problem.file);
  // Clang counts bytes.
  const std::string_view line = sources.line(file, problem.line);
  const auto column = [&](std::uint32_t byte) {
    return utf8_length(line.substr(0, std::min<std::size_t>(byte - 1, line.size()))) + 1;
  };
  const SourceRange place{file, problem.line, column(problem.column), problem.line,
                          std::max(column(problem.column) + 1, column(problem.end_column))};
  reports.error(id_of(problem.kind), place, problem.message,
                {{declaration, about_one ? "declared here" : "for this header"}});
}

}  // namespace

void declare_extern(Lowerer& lowerer, const ast::Extern& e,
                    const std::function<bool(const ast::Identifier&)>& declared) {
  std::vector<ir::ForeignDeclaration> declarations;
  std::vector<Foreign> made;
  std::vector<ForeignEntry> entries;
  std::vector<SourceRange> places;
  for (const auto& item : e.items) {
    std::visit(
        [&](const auto& f) {
          if (declared(f.name)) return;
          std::optional<Foreign> foreign = signature(lowerer.reports, f);
          lowerer.declared.foreigns[f.name.name] = {nullptr, f.name.range, as_function(f)};
          if (!foreign) return;
          ir::ForeignDeclaration d{f.name.name, foreign->parameters, {}, foreign->is_kernel, foreign->result};
          for (const auto& p : f.parameters) {
            d.dimensions.emplace_back();
            for (const ast::Dimension& dimension : type_of(p).dimensions)
              d.dimensions.back().push_back(lowerer.reports.source_text(dimension.range));
          }
          declarations.push_back(std::move(d));
          made.push_back(std::move(*foreign));
          places.push_back(f.range);
        },
        item);
  }
  if (const auto objection = objection_to_name(e.header))
    return lowerer.reports.error(DiagnosticId::kHeaderUnreadable, e.header_range,
                                 "cannot read the header: " + *objection);
  if (e.header.find_first_of("\"\\") != std::string::npos)
    return lowerer.reports.error(DiagnosticId::kHeaderUnreadable, e.header_range,
                                 "the name of a header holds no quotes and backslashes");
  const std::string path =
      std::filesystem::path(beside(lowerer.sources.name(e.header_range.file), e.header)).lexically_normal().string();
  ir::HeaderFacts facts;
  if (lowerer.options.read_header) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored))
      return lowerer.reports.error(DiagnosticId::kHeaderUnreadable, e.header_range,
                                   "cannot read the header `" + path + "`");
    facts = lowerer.options.read_header(path, declarations);
  }
  for (const ir::HeaderProblem& p : facts.problems) report(lowerer.reports, lowerer.sources, p, e, places);
  if (!facts.problems.empty()) return;
  for (std::size_t k = 0; k < made.size(); ++k) {
    made[k].header = seen_from(lowerer.sources.name(lowerer.main_file), path);
    if (k < facts.functions.size()) {
      const ir::ForeignFunction& f = facts.functions[k];
      made[k].may_stop = f.may_stop;
      made[k].operations = f.operations;
      for (std::size_t p = 0; p < made[k].parameters.size() && p < f.operands.size(); ++p)
        made[k].parameters[p].fresh = made[k].parameters[p].is_output && !f.operands[p].constructs;
    }
    const std::string name = made[k].name;
    const auto foreign = std::make_shared<const Foreign>(std::move(made[k]));
    lowerer.declared.foreigns.at(name).foreign = foreign;
    if (lowerer.options.foreign) lowerer.options.foreign(foreign);
  }
}

Tensor call_foreign_function(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                             const SourceRange& range) {
  if (entry.foreign == nullptr) throw Abandoned{};
  const std::size_t count = entry.foreign->parameters.size();
  std::vector<Tensor> args = positional(lowerer, call, count, count, range);
  for (std::size_t k = 0; k < count; ++k) {
    const Foreign::Parameter& p = entry.foreign->parameters[k];
    args[k] = lowerer.values.converted_to(args[k], p.type, "the parameter `" + p.name + "`", call.arguments[k].range);
  }
  const auto procedure = std::make_shared<const ir::Procedure>(ir::procedure_of(entry.foreign, entry.range));
  const auto apply = [&](const std::vector<Expr>& values) { return ir::application(procedure, values, range); };
  return args.empty() ? scalar_tensor(apply({})) : lowerer.algebra.elementwise(args, Weak::kNo, range, apply);
}

std::vector<Tensor> call_foreign_kernel(Lowerer& lowerer, const ForeignEntry& entry, const ast::Call& call,
                                        const SourceRange& range) {
  if (entry.foreign == nullptr) throw Abandoned{};
  const ast::Function& f = *entry.kernel;
  const std::vector<Tensor> args = positional(lowerer, call, f.parameters.size(), f.parameters.size(), range);
  Frame frame;
  frame.function = &f;
  frame.call = range;
  frame.chain = lowerer.frames.back().chain;
  ir::Routine routine;
  routine.kind = ir::Routine::Kind::kForeign;
  routine.foreign = entry.foreign;
  std::vector<RoutineResult> results;
  {
    // Dimensions are the call's own.
    const Names::InScope scope(lowerer.names, Scope::Kind::kFunction);
    const EnteredFrame entered(lowerer.frames, std::move(frame));
    for (std::size_t k = 0; k < args.size(); ++k) {
      const auto [value, type] =
          fitted(lowerer, f.parameters[k].name, *f.parameters[k].type, args[k], call.arguments[k].range);
      routine.operands.push_back(lowerer.algebra.routine_operand(value, type.scalar, call));
    }
    for (const ast::TypeExpr& written : f.results) {
      const ir::Type type = lower_type(lowerer, written);
      RoutineResult result{type.scalar, {}};
      for (std::size_t d = 0; d < type.rank(); ++d)
        result.shape.push_back(
            {type.shape[d], dimension_text(d, type.rank(), lowerer.reports.source_text(range)), range});
      results.push_back(std::move(result));
    }
  }
  return lowerer.algebra.emit_routine(std::move(routine), results, range);
}

}  // namespace tdsl::frontend
