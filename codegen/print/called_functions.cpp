#include "codegen/print/called_functions.h"

#include <fmt/format.h>

#include <utility>

#include "codegen/lower/foreign.h"
#include "codegen/print/emit_procedure.h"
#include "ir/graph/foreign_title.h"

namespace tdsl::codegen {

std::string CalledFunctions::procedure(const ir::ProcedureRef& p) {
  auto found = procedures_.find(p->text);
  if (found == procedures_.end()) {
    const std::set<std::string> outer = std::exchange(entered_, {});
    const std::string function = p->foreign ? foreign_function(*p->foreign, p->range) : own_function(*p);
    found = procedures_.emplace(p->text, Function{"fn::" + function, entered_}).first;
    entered_ = outer;
  }
  entered_.insert(found->second.enters.begin(), found->second.enters.end());
  return found->second.name;
}

std::string CalledFunctions::own_function(const ir::Procedure& p) {
  const std::string function = table_.claim(p.name);
  const Code emitted = emit_procedure(p, function, [this](const ir::ProcedureRef& inner) { return procedure(inner); });
  needs_.add(emitted.needs);
  if (p.range.known()) text_ += comment_(p.range) + "\n";
  text_ += emitted.text + "\n";
  return function;
}

std::string CalledFunctions::foreign_function(const ir::Foreign& f, ir::SourceRange range) {
  const std::string function = table_.claim(f.name);
  const ForeignCall call = foreign_call(f, function);
  if (range.known()) text_ += comment_(range) + "\n";
  text_ += call.declaration + "\n";
  foreign_calls_ += call.definition + "\n";
  headers_.insert(f.header);
  enter(f);
  return function;
}

std::string CalledFunctions::foreign_kernel(const ir::Foreign& f, ir::SourceRange range) {
  std::string& name = foreign_kernels_[ir::title_of(f)];
  if (name.empty()) name = "fn::" + foreign_function(f, range);
  return name;
}

void CalledFunctions::enter(const ir::Foreign& f) { entered_.insert(ir::title_of(f)); }

std::string CalledFunctions::reported(std::string_view how, const std::string& callee, ir::SourceRange range) {
  const std::set<std::string> enters = std::exchange(entered_, {});
  if (enters.empty()) return callee;
  needs_.add(Helper::kPlace);
  return fmt::format("rt::{}({{place({}), {}}}, {})", how, place_text(range), string_literal(ir::title_of(enters)),
                     callee);
}

}  // namespace tdsl::codegen
