#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "frontend/format/format.h"
#include "frontend/frontend.h"
#include "ir/verify/verify.h"

namespace tdsl::tests {

[[noreturn]] inline void broken(const std::string& promise) {
  std::fprintf(stderr, "the frontend breaks a promise: %s\n", promise.c_str());
  std::abort();
}

/// Checks properties of every text: either a program or errors, never both; the graph verifies; messages are printable;
/// formatting is idempotent. Aborts on failure.
inline void fuzz_frontend(std::string_view text) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink sink;
  frontend::CompileOptions options;
  options.read = [](const std::string&) { return std::nullopt; };  // a fuzzer would find /dev/zero
  const std::uint32_t file = sources.add("fuzz.tdsl", std::string(text));
  const auto program = frontend::compile(sources, file, sink, options);
  if (program.has_value() == sink.has_errors()) broken("a program or an error");
  if (program) {
    const auto problems = ir::verify(*program, ir::Gradients::kAllowed);
    if (!problems.empty()) broken("the graph verifies: " + problems.front());
  }
  const std::string shown = frontend::render_all(sink, sources);
  if (shown.empty() != sink.empty()) broken("every diagnostic is shown");
  if (frontend::render_json(sink, sources).empty()) broken("diagnostics as JSON");

  frontend::DiagnosticSink syntax;
  const auto formatted = frontend::format(sources, file, syntax);
  if (formatted.has_value() == syntax.has_errors()) broken("a layout or an error");
  if (!formatted) return;
  const auto again = frontend::format(sources, sources.add("again.tdsl", *formatted), syntax);
  if (!again || *again != *formatted) broken("formatting twice changes nothing");
}

}  // namespace tdsl::tests
