#pragma once

#include <optional>

#include "frontend/frontend.h"
#include "passes/passes.h"

namespace tdsl::tests {

/// The program of a file with nodes in place of derivatives and operators in place of sparse types: what the evaluator
/// runs.
inline std::optional<ir::Program> differentiated(frontend::SourceManager& sources, std::uint32_t file,
                                                 frontend::DiagnosticSink& sink,
                                                 const frontend::CompileOptions& options = {}) {
  const auto program = frontend::compile(sources, file, sink, options);
  if (!program) return std::nullopt;
  passes::PassContext context;
  const ir::Program result = passes::differentiate(*program, context);
  for (const passes::PassFailure& f : context.failures())
    sink.unsupported(frontend::DiagnosticId::kNotSupported, f.range, f.message, {{f.note_range, f.note}});
  return context.failed() ? std::nullopt : std::optional(passes::absence(result, context));
}

}  // namespace tdsl::tests
