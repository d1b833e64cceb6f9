#pragma once

#include <string>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/lower/state/frame.h"

namespace tdsl::frontend {

/// Thrown after an error was reported, to abandon the statement.
struct Abandoned {};

/// Diagnostics of the program being lowered, with the calls that led to their locations.
class Reports {
 public:
  using Notes = std::vector<DiagnosticNote>;

  Reports(SourceManager& sources, DiagnosticSink& sink, const Frames& frames)
      : sources_(sources), sink_(sink), frames_(frames) {}
  [[nodiscard]] DiagnosticSink& sink() { return sink_; }
  [[noreturn]] void fail(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  [[noreturn]] void unsupported(const ir::SourceRange& range, const std::string& what, Notes notes = {});
  void error(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  void warn(DiagnosticId id, const ir::SourceRange& range, const std::string& message, Notes notes = {});
  /// The source text of the range; empty unless it is within one ASCII line.
  [[nodiscard]] std::string source_text(const ir::SourceRange& range) const;

 private:
  [[nodiscard]] Notes with_calls(Notes notes) const;
  [[nodiscard]] bool known_from_other_call(DiagnosticId id, const ir::SourceRange& range);

  SourceManager& sources_;
  DiagnosticSink& sink_;
  const Frames& frames_;
};

}  // namespace tdsl::frontend
