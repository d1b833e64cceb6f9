#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/graph/source.h"

namespace tdsl::frontend {

using ir::SourceRange;

enum class Severity : std::uint8_t {
  kError,        ///< the program is invalid
  kUnsupported,  ///< the program is valid, but not supported yet; counts as an error
  kWarning,
  kNote,
};

/// Every kind of diagnostic. The enumerators, their printed ids and their explanations come from diagnostics.def.
enum class DiagnosticId : std::uint16_t {
#define TDSL_DIAGNOSTIC(enumerator, id, explanation) enumerator,
#include "frontend/diagnostics/diagnostics.def"
#undef TDSL_DIAGNOSTIC
};

/// The printed id, for example "missing-semicolon".
[[nodiscard]] std::string_view id_text(DiagnosticId id);
/// The id with this printed text, if there is one.
[[nodiscard]] std::optional<DiagnosticId> id_named(std::string_view text);
/// True if diagnostics with this id are warnings.
[[nodiscard]] bool is_warning(DiagnosticId id);
/// One-line explanation of the id, for `docs/errors.md` and `tdslc explain-error`.
[[nodiscard]] std::string_view explanation(DiagnosticId id);
/// All ids in the order of diagnostics.def.
[[nodiscard]] std::span<const DiagnosticId> all_diagnostic_ids();

/// A remark attached to a diagnostic; its location is optional (unknown range).
struct DiagnosticNote {
  SourceRange range;
  std::string message;
};

struct Diagnostic {
  DiagnosticId id;
  Severity severity = Severity::kError;
  SourceRange range;
  std::string message;
  std::vector<DiagnosticNote> notes = {};
};

/// The files of one compilation. A file's id is the `file` of its SourceRanges.
class SourceManager {
 public:
  /// Adds a file under the name that messages show, without its byte-order mark; returns its id.
  std::uint32_t add(std::string name, std::string text);
  [[nodiscard]] std::size_t file_count() const { return files_.size(); }
  [[nodiscard]] const std::string& name(std::uint32_t file) const;
  [[nodiscard]] const std::string& text(std::uint32_t file) const;
  /// Line `line` (from 1) without its line end; empty if there is no such line.
  [[nodiscard]] std::string_view line(std::uint32_t file, std::uint32_t line) const;
  /// Number of lines; a final line end does not start another line.
  [[nodiscard]] std::uint32_t line_count(std::uint32_t file) const;
  /// `name:line:col`, or the name alone for an unknown location.
  [[nodiscard]] std::string place(const SourceRange& range) const;

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<std::size_t> line_starts;  // byte offsets
  };
  std::vector<File> files_;
};

/// Suppressed warnings (`-Wno-ID`, `// allow(ID)`; see allowed_warnings.h).
class AllowedWarnings {
 public:
  void everywhere(DiagnosticId id) { everywhere_.insert(id); }
  void on_line(DiagnosticId id, std::uint32_t file, std::uint32_t line) { lines_.emplace(id, file, line); }
  [[nodiscard]] bool covers(DiagnosticId id, const SourceRange& range) const {
    return everywhere_.contains(id) || lines_.contains({id, range.file, range.line});
  }

 private:
  std::set<DiagnosticId> everywhere_;
  std::set<std::tuple<DiagnosticId, std::uint32_t, std::uint32_t>> lines_;
};

/// Collects diagnostics. Drops suppressed warnings, exact duplicates (id, range, message), and errors and warnings
/// after the first hundred of each.
class DiagnosticSink {
 public:
  static constexpr std::size_t kMostErrors = 100;
  static constexpr std::size_t kMostWarnings = 100;

  /// Warnings suppressed from now on.
  [[nodiscard]] AllowedWarnings& allowed() { return allowed_; }
  [[nodiscard]] const AllowedWarnings& allowed() const { return allowed_; }
  void add(Diagnostic diagnostic);
  void error(DiagnosticId id, const SourceRange& range, std::string message, std::vector<DiagnosticNote> notes = {});
  void warning(DiagnosticId id, const SourceRange& range, std::string message, std::vector<DiagnosticNote> notes = {});
  void unsupported(DiagnosticId id, const SourceRange& range, std::string message,
                   std::vector<DiagnosticNote> notes = {});
  /// Adds the note to the first diagnostic of that id and range, unless it has enough notes; false if there is no such
  /// diagnostic.
  bool add_note(DiagnosticId id, const SourceRange& range, const DiagnosticNote& note);

  /// Appends the diagnostics of `other` from number `first` on.
  void add_all(const DiagnosticSink& other, std::size_t first = 0);

  /// True if further errors would be dropped: phases may stop early.
  [[nodiscard]] bool is_full() const { return error_count_ >= kMostErrors; }
  /// True if warnings were dropped because of the limit.
  [[nodiscard]] bool dropped_warnings() const { return dropped_warnings_; }

  /// Number of errors and unsupported constructs; compilation stops after a phase with a nonzero count.
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] bool has_errors() const { return error_count_ != 0; }
  [[nodiscard]] bool empty() const { return diagnostics_.empty(); }
  /// In order of arrival.
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// Ordered by file, line and column, then by arrival. Diagnostics without a location come last.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;

 private:
  std::vector<Diagnostic> diagnostics_;
  AllowedWarnings allowed_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
  bool dropped_warnings_ = false;
};

struct RenderOptions {
  bool colour = false;
};

/// True if the stream supports colour: it is a terminal, and neither NO_COLOR nor TERM=dumb is set.
[[nodiscard]] bool wants_colour(int file_descriptor);

/// One diagnostic as text that ends with a line end:
///
///     ridge.tdsl:4:9: error: expected `;` before `let` [missing-semicolon]
///       let G = X
///               ^~~
///     ridge.tdsl:1:1: note: …
///
/// Long lines are cut to the vicinity of the range, marked by `…`.
[[nodiscard]] std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                                 const RenderOptions& options = {});
/// All diagnostics, sorted; a last line reports dropped ones.
[[nodiscard]] std::string render_all(const DiagnosticSink& sink, const SourceManager& sources,
                                     const RenderOptions& options = {});

/// All diagnostics, sorted, as one JSON array of `{id, severity, file, line, column, end_line, end_column, message,
/// notes: [{file, line, column, end_line, end_column, message}]}`. An unknown location has `file` null and zeros.
[[nodiscard]] std::string render_json(const DiagnosticSink& sink, const SourceManager& sources);

/// Message suffix "; did you mean `x`?" for the nearest candidate (runtime/base/nearest_name.h), or empty.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// "1 element", "3 elements".
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

/// Number of characters (code points) in UTF-8 text; an invalid byte counts as one.
[[nodiscard]] std::uint32_t utf8_length(std::string_view text);

/// The reason why a file name is refused, or nullopt. A path with control characters (line breaks, escape codes) would
/// break the messages that show it. The returned text escapes them as `\n` and `\x1b`.
[[nodiscard]] std::optional<std::string> objection_to_name(std::string_view path);

}  // namespace tdsl::frontend
