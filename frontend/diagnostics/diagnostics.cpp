#include "frontend/diagnostics/diagnostics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ir/graph/check.h"

namespace tdsl::frontend {

namespace {

struct IdEntry {
  std::string_view text;
  std::string_view explanation;
};

constexpr auto kEntries = std::to_array<IdEntry>({
#define TDSL_DIAGNOSTIC(enumerator, id, explanation) {id, explanation},
#include "frontend/diagnostics/diagnostics.def"
#undef TDSL_DIAGNOSTIC
});

constexpr auto kWarns = std::to_array<bool>({
#define TDSL_DIAGNOSTIC(enumerator, id, explanation) false,
#define TDSL_WARNING(enumerator, id, explanation) true,
#include "frontend/diagnostics/diagnostics.def"
#undef TDSL_DIAGNOSTIC
});

constexpr auto kAllIds = std::to_array<DiagnosticId>({
#define TDSL_DIAGNOSTIC(enumerator, id, explanation) DiagnosticId::enumerator,
#include "frontend/diagnostics/diagnostics.def"
#undef TDSL_DIAGNOSTIC
});

auto place_key(const SourceRange& range) { return std::tuple(!range.known(), range.file, range.line, range.column); }

}  // namespace

std::string_view id_text(DiagnosticId id) { return kEntries.at(static_cast<std::size_t>(id)).text; }

std::optional<DiagnosticId> id_named(std::string_view text) {
  const auto found = std::ranges::find_if(kAllIds, [&](DiagnosticId id) { return id_text(id) == text; });
  return found == kAllIds.end() ? std::nullopt : std::optional(*found);
}

bool is_warning(DiagnosticId id) { return kWarns.at(static_cast<std::size_t>(id)); }

std::string_view explanation(DiagnosticId id) { return kEntries.at(static_cast<std::size_t>(id)).explanation; }

std::span<const DiagnosticId> all_diagnostic_ids() { return kAllIds; }

std::uint32_t SourceManager::add(std::string name, std::string text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) { text.erase(0, kByteOrderMark.size()); }
  File file{std::move(name), std::move(text), {0}};
  for (std::size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n' && i + 1 < file.text.size()) { file.line_starts.push_back(i + 1); }
  }
  files_.push_back(std::move(file));
  return static_cast<std::uint32_t>(files_.size() - 1);
}

const std::string& SourceManager::name(std::uint32_t file) const {
  TDSL_CHECK(file < files_.size(), "a file id of this source manager");
  return files_[file].name;
}

const std::string& SourceManager::text(std::uint32_t file) const {
  TDSL_CHECK(file < files_.size(), "a file id of this source manager");
  return files_[file].text;
}

std::string_view SourceManager::line(std::uint32_t file, std::uint32_t line) const {
  TDSL_CHECK(file < files_.size(), "a file id of this source manager");
  const File& f = files_[file];
  if (line == 0 || line > f.line_starts.size()) { return {}; }
  std::string_view rest = std::string_view(f.text).substr(f.line_starts[line - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') { rest.remove_suffix(1); }
  return rest;
}

std::uint32_t SourceManager::line_count(std::uint32_t file) const {
  TDSL_CHECK(file < files_.size(), "a file id of this source manager");
  return static_cast<std::uint32_t>(files_[file].line_starts.size());
}

std::string SourceManager::place(const SourceRange& range) const {
  if (range.file >= files_.size()) { return {}; }
  std::string result = files_[range.file].name;
  if (range.known()) { result += ":" + std::to_string(range.line) + ":" + std::to_string(range.column); }
  return result;
}

void DiagnosticSink::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kWarning && allowed_.covers(diagnostic.id, diagnostic.range)) { return; }
  const bool duplicate = std::ranges::any_of(diagnostics_, [&](const Diagnostic& other) {
    return other.id == diagnostic.id && other.range == diagnostic.range && other.message == diagnostic.message;
  });
  if (duplicate) { return; }
  const bool error = diagnostic.severity == Severity::kError || diagnostic.severity == Severity::kUnsupported;
  if (error ? is_full() : warning_count_ >= kMostWarnings) {
    dropped_warnings_ = dropped_warnings_ || !error;
    return;
  }
  ++(error ? error_count_ : warning_count_);
  diagnostics_.push_back(std::move(diagnostic));
}

void DiagnosticSink::add_all(const DiagnosticSink& other, std::size_t first) {
  for (std::size_t k = first; k < other.diagnostics_.size(); ++k) { add(other.diagnostics_[k]); }
  dropped_warnings_ = dropped_warnings_ || other.dropped_warnings_;
}

bool DiagnosticSink::add_note(DiagnosticId id, const SourceRange& range, const DiagnosticNote& note) {
  constexpr std::size_t kEnoughNotes = 4;
  const auto found =
      std::ranges::find_if(diagnostics_, [&](const Diagnostic& d) { return d.id == id && d.range == range; });
  if (found == diagnostics_.end()) return false;
  const bool known = std::ranges::any_of(found->notes, [&](const DiagnosticNote& other) {
    return other.range == note.range && other.message == note.message;
  });
  if (!known && found->notes.size() < kEnoughNotes) found->notes.push_back(note);
  return true;
}

void DiagnosticSink::error(DiagnosticId id, const SourceRange& range, std::string message,
                           std::vector<DiagnosticNote> notes) {
  add({id, Severity::kError, range, std::move(message), std::move(notes)});
}

void DiagnosticSink::warning(DiagnosticId id, const SourceRange& range, std::string message,
                             std::vector<DiagnosticNote> notes) {
  TDSL_CHECK(is_warning(id), "diagnostics.def says of `" + std::string(id_text(id)) + "` that it is a warning");
  add({id, Severity::kWarning, range, std::move(message), std::move(notes)});
}

void DiagnosticSink::unsupported(DiagnosticId id, const SourceRange& range, std::string message,
                                 std::vector<DiagnosticNote> notes) {
  add({id, Severity::kUnsupported, range, std::move(message), std::move(notes)});
}

std::vector<Diagnostic> DiagnosticSink::sorted() const {
  std::vector<Diagnostic> result = diagnostics_;
  std::stable_sort(result.begin(), result.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return place_key(a.range) < place_key(b.range); });
  return result;
}

}  // namespace tdsl::frontend
