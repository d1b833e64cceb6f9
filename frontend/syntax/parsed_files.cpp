#include "frontend/syntax/parsed_files.h"

#include <utility>

namespace tdsl::frontend {

std::shared_ptr<const ParsedText> ParsedFiles::of(const SourceManager& sources, std::uint32_t file) {
  Known& known = files_[file];
  const std::string& text = sources.text(file);
  if (known.parsed == nullptr || known.text != text)
    known = {text, std::make_shared<const ParsedText>(parse_text(sources, file))};
  return known.parsed;
}

std::optional<ast::Module> ParsedFiles::module_of(const SourceManager& sources, std::uint32_t file,
                                                  DiagnosticSink& sink) {
  const std::shared_ptr<const ParsedText> parsed = of(sources, file);
  sink.add_all(parsed->messages);
  return parsed->complete ? std::optional(parsed->module) : std::nullopt;
}

}  // namespace tdsl::frontend
