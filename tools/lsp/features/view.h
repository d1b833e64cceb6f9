#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/lsp/document.h"

namespace tdsl::lsp {

/// A document with its analysis, and the conversions between the positions of both. File 0 is the document.
class View {
 public:
  View(const Document& document, const Services& services)
      : document_(document), analysis_(*document.now), services_(services) {}

  [[nodiscard]] const Document& document() const { return document_; }
  [[nodiscard]] const Services& services() const { return services_; }
  [[nodiscard]] const frontend::Index& index() const { return analysis_.index; }
  [[nodiscard]] const frontend::SourceManager& sources() const { return analysis_.checked.sources; }
  [[nodiscard]] const frontend::DiagnosticSink& sink() const { return analysis_.checked.sink; }
  [[nodiscard]] const frontend::IndexDeclaration& declaration(std::int32_t id) const {
    return index().declarations.at(static_cast<std::size_t>(id));
  }

  /// Line and column (from 1) of `params.position`, or of any position.
  struct Place {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
  };
  [[nodiscard]] Place place(const Json& position) const;
  /// Bytes of the place's line in front of it.
  [[nodiscard]] std::string before(const Place& place) const;

  [[nodiscard]] Json range(const frontend::SourceRange& range) const;
  [[nodiscard]] Json position(std::uint32_t file, std::uint32_t line, std::uint32_t column) const;
  [[nodiscard]] Json location(const frontend::SourceRange& range) const;
  [[nodiscard]] std::string uri(std::uint32_t file) const;
  /// The end of the document.
  [[nodiscard]] frontend::SourceRange whole() const;

  /// The declaration that the place names, or -1. Where the statement does not parse, the word is looked up.
  [[nodiscard]] std::int32_t declaration_at(const Place& place) const;
  /// The word around the place, maybe empty, and where it stands.
  [[nodiscard]] std::string word_at(const Place& place) const;
  [[nodiscard]] frontend::SourceRange word_range(const Place& place) const;
  /// "f64[n, m]"; several types are separated by " | ".
  [[nodiscard]] static std::string type_of(const frontend::IndexDeclaration& d);

 private:
  const Document& document_;
  const Analysis& analysis_;
  const Services& services_;
};

/// A word of the language in completions and hover texts.
struct BuiltinText {
  std::string_view name;
  std::string_view signature;
  std::string_view text;
};
/// The description of a built-in function, or null.
[[nodiscard]] const BuiltinText* builtin_text(std::string_view name);

}  // namespace tdsl::lsp
