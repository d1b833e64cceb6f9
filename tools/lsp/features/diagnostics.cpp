#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

namespace {

int severity_number(frontend::Severity severity) {
  switch (severity) {
    case frontend::Severity::kError:
    case frontend::Severity::kUnsupported: return 1;
    case frontend::Severity::kWarning: return 2;
    case frontend::Severity::kNote: return 3;
  }
  return 1;
}

Json related(const View& view, const std::vector<frontend::DiagnosticNote>& notes) {
  Json all = Json::array();
  for (const frontend::DiagnosticNote& note : notes) {
    if (note.range.known()) all.push_back({{"location", view.location(note.range)}, {"message", note.message}});
  }
  return all;
}

/// Notes without a place belong to the message.
std::string message_with_notes(const frontend::Diagnostic& d) {
  std::string text = d.message;
  for (const frontend::DiagnosticNote& note : d.notes) {
    if (!note.range.known()) text += "\nnote: " + note.message;
  }
  return text;
}

/// An error of an imported file is shown at the import.
const frontend::IndexImport* import_of(const View& view, std::uint32_t file) {
  for (const frontend::IndexImport& import : view.index().imports) {
    if (import.file == file && import.range.file == 0) return &import;
  }
  return nullptr;
}

Json one(const View& view, const frontend::Diagnostic& d) {
  const std::string id(frontend::id_text(d.id));
  Json json = {{"range", view.range(d.range)},
               {"severity", severity_number(d.severity)},
               {"code", id},
               {"source", "tdslc"},
               {"message", message_with_notes(d)}};
  Json notes = related(view, d.notes);
  if (d.range.file != 0) {
    const Json origin = {{"location", view.location(d.range)}, {"message", d.message}};
    notes.insert(notes.begin(), origin);
    const frontend::IndexImport* import = import_of(view, d.range.file);
    json["range"] = import == nullptr ? view.range({0, 1, 1, 1, 1}) : view.range(import->range);
    json["message"] = "in " + view.sources().place(d.range) + ": " + message_with_notes(d);
  }
  if (!notes.empty()) json["relatedInformation"] = std::move(notes);
  const bool unused = d.id == frontend::DiagnosticId::kUnusedName;
  if (unused) json["tags"] = Json::array({1});
  return json;
}

}  // namespace

Json diagnostics_of(const View& view) {
  Json all = Json::array();
  for (const frontend::Diagnostic& d : view.sink().sorted()) all.push_back(one(view, d));
  return all;
}

}  // namespace tdsl::lsp
