#include "frontend/lower/state/reports.h"

#include <algorithm>

namespace tdsl::frontend {

void Reports::fail(DiagnosticId id, const SourceRange& range, const std::string& message, Notes notes) {
  error(id, range, message, std::move(notes));
  throw Abandoned{};
}

void Reports::error(DiagnosticId id, const SourceRange& range, const std::string& message, Notes notes) {
  if (!known_from_other_call(id, range)) sink_.error(id, range, message, with_calls(std::move(notes)));
}

/// An error in a function that no call has passed is reported once, however often the function is called.
bool Reports::known_from_other_call(DiagnosticId id, const SourceRange& range) {
  const bool unproved = std::any_of(frames_.begin() + 1, frames_.end(),
                                    [](const Frame& frame) { return frame.entry != nullptr && !frame.entry->sound; });
  return unproved && sink_.add_note(id, range, with_calls({}).front());
}

void Reports::unsupported(const SourceRange& range, const std::string& what, Notes notes) {
  if (!known_from_other_call(DiagnosticId::kNotSupported, range))
    sink_.unsupported(DiagnosticId::kNotSupported, range, what + " not supported yet", with_calls(std::move(notes)));
  throw Abandoned{};
}

void Reports::warn(DiagnosticId id, const SourceRange& range, const std::string& message, Notes notes) {
  sink_.warning(id, range, message, with_calls(std::move(notes)));
}

Reports::Notes Reports::with_calls(Notes notes) const {
  for (std::size_t k = frames_.size(); k-- > 1;) {
    const std::string& tensor = frames_[k].tensor;
    const std::string hint =
        tensor.empty() ? ""
                       : ", where `" + tensor +
                             "`, which has no type, is a tensor; index notation applies the function per element";
    std::string types;
    for (const auto& [name, type] : frames_[k].instance.types)
      types += (types.empty() ? " with " : ", ") + name + " = " + std::string(ir::name_of(type));
    notes.push_back({frames_[k].call, "in this call of `" + frames_[k].function->name.name + "`" + types + hint});
  }
  return notes;
}

std::string Reports::source_text(const SourceRange& range) const {
  if (!range.known() || range.line != range.end_line || range.file >= sources_.file_count()) return "";
  // Columns count characters, not bytes; lines with multi-byte characters yield no text.
  const std::string_view line = sources_.line(range.file, range.line);
  if (utf8_length(line) != line.size() || range.end_column > line.size() + 1 || range.column < 1) return "";
  return std::string(line.substr(range.column - 1, range.end_column - range.column));
}

}  // namespace tdsl::frontend
