#pragma once

#include <string>

#include "codegen/lower/program.h"
#include "codegen/operations/program.h"
#include "ir/text/print.h"
#include "passes/pipeline.h"

// Small index graphs in text form for the tests of codegen/.
namespace tdsl::codegen::testing {

inline const std::string kMatrices =
    "program \"p\"\nfile \"p.tdsl\"\n"
    "%0:i64 \"n\" = dimension \"n\" @0:1:1-1:2\n%1:i64 \"m\" = dimension \"m\" @0:1:1-1:2\n"
    "%2:f64[%0, %1] \"A\" = input \"A\" @0:1:1-1:2\n%3:f64[%1, %0] \"B\" = input \"B\" @0:2:1-2:2\n"
    "%4:f64[%0] \"x\" = input \"x\" @0:3:1-3:2\n";

/// For a program brought to legal form, otherwise unchanged.
inline OperationProgram lowered(const std::string& body) {
  passes::PassContext context;
  passes::PipelineOptions options;
  options.level = 0;
  return lower(passes::run_pipeline(ir::parse(kMatrices + body), options, context));
}

/// All operations of the program, including those in loops, in order.
inline void collect(const Steps& steps, std::vector<const OperationStep*>& found) {
  for (const Step& s : steps) {
    if (const auto* o = std::get_if<OperationStep>(&s.op)) found.push_back(o);
    if (const auto* f = std::get_if<ForStep>(&s.op)) collect(f->body, found);
    if (const auto* i = std::get_if<IfStep>(&s.op)) {
      collect(i->then_steps, found);
      collect(i->else_steps, found);
    }
    if (const auto* w = std::get_if<WhileStep>(&s.op)) {
      collect(w->condition, found);
      collect(w->body, found);
    }
  }
}
inline std::vector<const OperationStep*> operations(const OperationProgram& program) {
  std::vector<const OperationStep*> found;
  collect(program.steps, found);
  return found;
}

template <class T>
int count_steps(const Steps& steps) {
  int n = 0;
  for (const Step& s : steps) {
    n += std::holds_alternative<T>(s.op) ? 1 : 0;
    if (const auto* f = std::get_if<ForStep>(&s.op)) n += count_steps<T>(f->body);
    if (const auto* w = std::get_if<WhileStep>(&s.op)) n += count_steps<T>(w->condition) + count_steps<T>(w->body);
  }
  return n;
}

}  // namespace tdsl::codegen::testing
