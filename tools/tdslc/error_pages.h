#pragma once

#include <string>
#include <string_view>

namespace tdsl::tools {

/// docs/errors.md and docs/import.md, compiled in (tools/cmake/TdslErrorPages.cmake).
extern const std::string_view kErrorsPage, kImportPage;

/// The section `### ID` of a page, or the row of a table whose first cell has the id, as text for a terminal: without
/// marks of Markdown, examples indented. Empty if there is neither.
[[nodiscard]] std::string section_of(std::string_view page, std::string_view id);

/// `tdslc --explain ID`: explains a message. `[ID]` is accepted as well. Returns the exit code: 2
/// for an unknown id, with the nearest one.
[[nodiscard]] int print_error_page(std::string_view id);

}  // namespace tdsl::tools
