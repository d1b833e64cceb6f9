#pragma once

#include <string>
#include <string_view>

#include "frontend/diagnostics/diagnostics.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The id of the warning that is called so. Throws std::runtime_error, with the nearest name, for what is no warning.
[[nodiscard]] DiagnosticId warning_named(std::string_view text);

/// Leaves out of the sink what comments of the file allow: `// allow(ID, ID)` holds for its own line, and the next line
/// of the program where nothing stands before it. Names that are no warnings are warned of.
void allow_by_comments(const ast::Module& module, const SourceManager& sources, DiagnosticSink& sink);

}  // namespace tdsl::frontend
