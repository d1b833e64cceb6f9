#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/hints/text_direction.h"

namespace tdsl::frontend {

namespace {

std::string_view severity_word(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kUnsupported: return "unsupported";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

std::string_view severity_colour(Severity severity) {
  switch (severity) {
    case Severity::kError:
    case Severity::kUnsupported: return "\033[1;31m";
    case Severity::kWarning: return "\033[1;35m";
    case Severity::kNote: return "\033[1;36m";
  }
  return "";
}

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kCaretColour = "\033[1;32m";
constexpr std::string_view kReset = "\033[0m";

std::string painted(std::string_view text, std::string_view colour, const RenderOptions& options) {
  if (!options.colour) { return std::string(text); }
  return std::string(colour) + std::string(text) + std::string(kReset);
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Padding as wide as the first `characters` of the line; tabs are kept so that the caret is aligned.
std::string padding(std::string_view line, std::uint32_t characters) {
  std::string result;
  for (std::size_t i = 0; i < line.size() && characters > 0; ++i) {
    if (i > 0 && is_continuation(line[i])) { continue; }
    result += line[i] == '\t' ? '\t' : ' ';
    --characters;
  }
  return result.append(characters, ' ');
}

/// The byte offset of character `number` (from 0) of the line.
std::size_t byte_of(std::string_view line, std::uint32_t number) {
  std::size_t at = 0;
  for (; at < line.size(); ++at) {
    if (at > 0 && is_continuation(line[at])) continue;
    if (number-- == 0) break;
  }
  return at;
}

/// An excerpt of a line: the text, and the number of characters before it.
struct Excerpt {
  std::string text;
  std::uint32_t before = 0;
};

/// The line, or its vicinity of the characters [first, end) if it is long.
Excerpt excerpt(std::string_view line, std::uint32_t first, std::uint32_t end) {
  constexpr std::uint32_t kLongLine = 400;
  constexpr std::uint32_t kNear = 80;
  const std::uint32_t length = utf8_length(line);
  if (length <= kLongLine) return {std::string(line), 0};
  const std::uint32_t from = first > kNear ? first - kNear : 0;
  const std::uint32_t to = std::min({end, first + 2 * kNear, length}) + kNear;
  const std::size_t begin = byte_of(line, from);
  Excerpt result{std::string(line.substr(begin, byte_of(line, to) - begin)), from};
  if (from > 0) {
    result.text = "…" + result.text;
    --result.before;  // the mark has the width of a character
  }
  if (to < length) result.text += "…";
  return result;
}

/// The source line and the caret range; empty for an unknown location.
std::string render_source(const SourceRange& range, const SourceManager& sources, const RenderOptions& options) {
  if (!range.known() || range.file >= sources.file_count()) { return {}; }
  const std::string_view line = sources.line(range.file, range.line);
  const std::uint32_t length = utf8_length(line);
  const std::uint32_t end = range.end_line > range.line ? length + 1 : std::min(range.end_column, length + 1);
  const std::uint32_t first = range.column - 1;
  const Excerpt shown = excerpt(line, first, end - 1);
  const std::uint32_t place = first - shown.before;
  const std::uint32_t longest = std::max(utf8_length(shown.text), place + 1) - place;
  const std::uint32_t width = std::min(end > range.column ? end - range.column : 1, longest);
  const std::string caret = "^" + std::string(width - 1, '~');
  return "  " + without_directions(shown.text) + "\n  " + padding(shown.text, place) +
         painted(caret, kCaretColour, options) + "\n";
}

std::string render_head(const SourceRange& range, Severity severity, const std::string& message,
                        const SourceManager& sources, const RenderOptions& options) {
  std::string result;
  if (range.known()) { result += painted(sources.place(range) + ":", kBold, options) + " "; }
  result += painted(std::string(severity_word(severity)) + ":", severity_colour(severity), options) + " ";
  return result + painted(message, kBold, options);
}

nlohmann::ordered_json place_json(const SourceRange& range, const SourceManager& sources) {
  nlohmann::ordered_json result;
  if (range.known() && range.file < sources.file_count()) {
    result["file"] = sources.name(range.file);
  } else {
    result["file"] = nullptr;
  }
  result["line"] = range.line;
  result["column"] = range.column;
  result["end_line"] = range.end_line;
  result["end_column"] = range.end_column;
  return result;
}

}  // namespace

bool wants_colour(int file_descriptor) {
  const char* term = std::getenv("TERM");
  return isatty(file_descriptor) == 1 && std::getenv("NO_COLOR") == nullptr &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string render(const Diagnostic& diagnostic, const SourceManager& sources, const RenderOptions& options) {
  std::string result = render_head(diagnostic.range, diagnostic.severity, diagnostic.message, sources, options);
  result += " [" + std::string(id_text(diagnostic.id)) + "]\n";
  result += render_source(diagnostic.range, sources, options);
  for (const DiagnosticNote& note : diagnostic.notes) {
    result += render_head(note.range, Severity::kNote, note.message, sources, options) + "\n";
    result += render_source(note.range, sources, options);
  }
  return result;
}

std::string render_all(const DiagnosticSink& sink, const SourceManager& sources, const RenderOptions& options) {
  std::string result;
  for (const Diagnostic& diagnostic : sink.sorted()) { result += render(diagnostic, sources, options); }
  const auto last = [&](const std::string& message) {
    result += painted("note:", severity_colour(Severity::kNote), options) + " " + message + "\n";
  };
  if (sink.dropped_warnings())
    last("only the first " + counted(DiagnosticSink::kMostWarnings, "warning") + " are shown");
  if (sink.is_full()) last("stopped after " + counted(DiagnosticSink::kMostErrors, "error"));
  return result;
}

std::string render_json(const DiagnosticSink& sink, const SourceManager& sources) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Diagnostic& diagnostic : sink.sorted()) {
    nlohmann::ordered_json entry;
    entry["id"] = id_text(diagnostic.id);
    entry["severity"] = severity_word(diagnostic.severity);
    entry.update(place_json(diagnostic.range, sources));
    entry["message"] = diagnostic.message;
    entry["notes"] = nlohmann::ordered_json::array();
    for (const DiagnosticNote& note : diagnostic.notes) {
      nlohmann::ordered_json note_entry = place_json(note.range, sources);
      note_entry["message"] = note.message;
      entry["notes"].push_back(std::move(note_entry));
    }
    array.push_back(std::move(entry));
  }
  // A message may quote invalid UTF-8 from a file name: replace it instead of throwing.
  return array.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string counted(std::size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

std::uint32_t utf8_length(std::string_view text) {
  std::uint32_t length = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t expected = 1;
    if (lead >= 0xC2 && lead < 0xE0) {
      expected = 2;
    } else if (lead >= 0xE0 && lead < 0xF0) {
      expected = 3;
    } else if (lead >= 0xF0 && lead < 0xF5) {
      expected = 4;
    }
    bool valid = i + expected <= text.size();
    for (std::size_t k = 1; valid && k < expected; ++k) { valid = is_continuation(text[i + k]); }
    i += valid ? expected : 1;
    ++length;
  }
  return length;
}

namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7F; }

/// U+0080 to U+009F: in UTF-8, the second of two bytes.
bool is_high_control(unsigned char before, unsigned char c) { return before == 0xC2 && c >= 0x80 && c <= 0x9F; }

std::string escaped(unsigned char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (c == '\n') return "\\n";
  return {'\\', 'x', kDigits[c / 16], kDigits[c % 16]};
}

}  // namespace

std::optional<std::string> objection_to_name(std::string_view path) {
  std::string shown;
  bool found = false;
  unsigned char before = 0;
  for (const char character : path) {
    const auto c = static_cast<unsigned char>(character);
    const bool high = is_high_control(before, c);
    if (high) shown.pop_back();
    if (high || is_control(c)) {
      shown += escaped(c);
      found = true;
    } else {
      shown += character;
    }
    before = c;
  }
  if (!found) return std::nullopt;
  return "`" + shown + "` has control characters in its name; rename the file";
}

}  // namespace tdsl::frontend
