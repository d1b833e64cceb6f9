#pragma once

#include <string_view>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The id of the warning with this name. Throws std::runtime_error, with the nearest name, if there is none.
[[nodiscard]] DiagnosticId warning_named(std::string_view text);

/// Applies the comments `// allow(ID, ID)` of the file: each suppresses warnings on its own line and, if it is alone on
/// it, on the next program line. Warns about names that are not warnings.
void allow_by_comments(const ast::Module& module, const SourceManager& sources, DiagnosticSink& sink);

}  // namespace tdsl::frontend
