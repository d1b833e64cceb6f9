#include "frontend/allowed_warnings.h"

#include <optional>
#include <stdexcept>
#include <vector>

namespace tdsl::frontend {

namespace {

constexpr std::string_view kSpace = " \t";

std::string_view without_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// The text between the parentheses of `// allow(…)`; more text may follow.
std::optional<std::string_view> allowed_in(std::string_view comment) {
  constexpr std::string_view kBegin = "//", kAllow = "allow(";
  if (!comment.starts_with(kBegin)) return std::nullopt;
  comment = without_space(comment.substr(kBegin.size()));
  const std::size_t end = comment.find(')');
  if (!comment.starts_with(kAllow) || end == std::string_view::npos) return std::nullopt;
  return comment.substr(kAllow.size(), end - kAllow.size());
}

bool begins_a_comment(std::string_view line) { return without_space(line).starts_with("//"); }

/// The program line below a comment that is alone on its line, skipping further comment lines.
std::optional<std::uint32_t> line_below(const SourceRange& comment, const SourceManager& sources) {
  if (!begins_a_comment(sources.line(comment.file, comment.line))) return std::nullopt;
  std::uint32_t line = comment.line + 1;
  while (begins_a_comment(sources.line(comment.file, line))) ++line;
  return line;
}

}  // namespace

DiagnosticId warning_named(std::string_view text) {
  if (const auto id = id_named(text); id && is_warning(*id)) return *id;
  if (id_named(text)) throw std::runtime_error("`" + std::string(text) + "` is an error, which cannot be left out");
  std::vector<std::string> known;
  for (const DiagnosticId id : all_diagnostic_ids()) {
    if (is_warning(id)) known.emplace_back(id_text(id));
  }
  throw std::runtime_error("no warning is called `" + std::string(text) + "`" + did_you_mean(text, known));
}

void allow_by_comments(const ast::Module& module, const SourceManager& sources, DiagnosticSink& sink) {
  for (const ast::Comment& comment : module.comments) {
    const auto names = allowed_in(comment.text);
    if (!names) continue;
    const auto below = line_below(comment.range, sources);
    for (std::string_view rest = *names; !rest.empty();) {
      const std::size_t end = rest.find(',');
      const std::string_view name = without_space(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      try {
        const DiagnosticId id = warning_named(name);
        sink.allowed().on_line(id, comment.range.file, comment.range.line);
        if (below) sink.allowed().on_line(id, comment.range.file, *below);
      } catch (const std::runtime_error& error) {
        sink.warning(DiagnosticId::kUnknownWarning, comment.range, error.what());
      }
    }
  }
}

}  // namespace tdsl::frontend
