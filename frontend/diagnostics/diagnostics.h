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
  kError,        ///< the program is wrong
  kUnsupported,  ///< the program is right, the compiler cannot do it yet; counts as an error
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
/// The id that is printed so, if there is one.
[[nodiscard]] std::optional<DiagnosticId> id_named(std::string_view text);
/// Whether diagnostics of that id are warnings.
[[nodiscard]] bool is_warning(DiagnosticId id);
/// One line that explains the id, for `docs/errors.md` and `tdslc explain-error`.
[[nodiscard]] std::string_view explanation(DiagnosticId id);
/// All ids in the order of diagnostics.def.
[[nodiscard]] std::span<const DiagnosticId> all_diagnostic_ids();

/// A remark that belongs to a diagnostic, with a place or (range unknown) without.
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
  /// Adds a file's text, less a byte-order mark, under the name that messages show; returns its id.
  std::uint32_t add(std::string name, std::string text);
  [[nodiscard]] std::size_t file_count() const { return files_.size(); }
  [[nodiscard]] const std::string& name(std::uint32_t file) const;
  [[nodiscard]] const std::string& text(std::uint32_t file) const;
  /// Line `line` (from 1) without its line end; empty when there is no such line.
  [[nodiscard]] std::string_view line(std::uint32_t file, std::uint32_t line) const;
  /// Number of lines; a text that ends in a line end has no further empty line.
  [[nodiscard]] std::uint32_t line_count(std::uint32_t file) const;
  /// `name:line:col`, or just the name for an unknown place.
  [[nodiscard]] std::string place(const SourceRange& range) const;

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<std::size_t> line_starts;  // byte offsets
  };
  std::vector<File> files_;
};

/// The warnings that are left out (`-Wno-ID`, `// allow(ID)`; allowed_warnings.h reads both).
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

/// Collects diagnostics. Allowed warnings are dropped on arrival, and so are exact duplicates (id, range, message), and
/// errors and warnings after the first hundred of each.
class DiagnosticSink {
 public:
  static constexpr std::size_t kMostErrors = 100;
  static constexpr std::size_t kMostWarnings = 100;

  /// The warnings that are left out from now on.
  [[nodiscard]] AllowedWarnings& allowed() { return allowed_; }
  [[nodiscard]] const AllowedWarnings& allowed() const { return allowed_; }
  void add(Diagnostic diagnostic);
  void error(DiagnosticId id, const SourceRange& range, std::string message, std::vector<DiagnosticNote> notes = {});
  void warning(DiagnosticId id, const SourceRange& range, std::string message, std::vector<DiagnosticNote> notes = {});
  void unsupported(DiagnosticId id, const SourceRange& range, std::string message,
                   std::vector<DiagnosticNote> notes = {});
  /// Adds the note to the first diagnostic of that kind and place, if there is one, unless it has enough; returns
  /// whether there is.
  bool add_note(DiagnosticId id, const SourceRange& range, const DiagnosticNote& note);

  /// Adds what the other has, from number `first` on.
  void add_all(const DiagnosticSink& other, std::size_t first = 0);

  /// Whether no further error is kept: looking for more is of no use.
  [[nodiscard]] bool is_full() const { return error_count_ >= kMostErrors; }
  /// Whether warnings have been dropped because there were too many.
  [[nodiscard]] bool dropped_warnings() const { return dropped_warnings_; }

  /// Errors and unsupported constructs so far: the compilation must stop after the phase when this is not 0.
  [[nodiscard]] std::size_t error_count() const { return error_count_; }
  [[nodiscard]] bool has_errors() const { return error_count_ != 0; }
  [[nodiscard]] bool empty() const { return diagnostics_.empty(); }
  /// In order of arrival.
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// Ordered by file, line and column; arrival decides ties. Diagnostics without a place come last.
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

/// Whether a stream shows colour: it is a terminal and neither NO_COLOR nor TERM=dumb is set.
[[nodiscard]] bool wants_colour(int file_descriptor);

/// One diagnostic as text ending in a line end:
///
///     ridge.tdsl:4:9: error: expected ';' before 'let' [missing-semicolon]
///       let G = X
///               ^~~
///     ridge.tdsl:1:1: note: …
///
/// Of a long line only what is near the range is shown, between `…`.
[[nodiscard]] std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                                 const RenderOptions& options = {});
/// All diagnostics, sorted; a last line says where there may be more.
[[nodiscard]] std::string render_all(const DiagnosticSink& sink, const SourceManager& sources,
                                     const RenderOptions& options = {});

/// All diagnostics, sorted, as one JSON array of
/// `{id, severity, file, line, column, end_line, end_column, message, notes: [{file, line, column, end_line,
/// end_column, message}]}`. A place that is not known has `file` null and zeros.
[[nodiscard]] std::string render_json(const DiagnosticSink& sink, const SourceManager& sources);

/// The candidate most like `name` (edit distance with transpositions at most a third of the longer length, case
/// ignored), or empty. The first of equally good ones wins.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?" for the nearest candidate, or empty: to append to a message.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// "1 element", "3 elements".
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

/// Number of characters (code points) in UTF-8 text; an invalid byte counts as one.
[[nodiscard]] std::uint32_t utf8_length(std::string_view text);

}  // namespace tdsl::frontend
