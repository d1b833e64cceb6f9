#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tools/lsp/features/view.h"

// One function per request of the protocol; `params` and results are the protocol's. Errors are RequestError.
namespace tdsl::lsp {

/// The diagnostics of the document, with notes as related information.
[[nodiscard]] Json diagnostics_of(const View& view);

[[nodiscard]] Json hover(const View& view, const Json& params);
[[nodiscard]] Json definition(const View& view, const Json& params);
[[nodiscard]] Json highlight(const View& view, const Json& params);
[[nodiscard]] Json document_symbols(const View& view);
[[nodiscard]] Json folding_ranges(const View& view);
[[nodiscard]] Json semantic_tokens(const View& view);
[[nodiscard]] Json semantic_legend();
[[nodiscard]] Json completion(const View& view, const Json& params);
[[nodiscard]] Json signature_help(const View& view, const Json& params);
[[nodiscard]] Json formatting(const View& view);
[[nodiscard]] Json inlay_hints(const View& view, const Json& params);
[[nodiscard]] Json code_actions(const View& view, const Json& params);

/// Views of all files that may mention a name of the document: the open ones and those of the workspace.
using EachView = std::function<void(const std::function<void(const View&)>&)>;

[[nodiscard]] Json references(const View& view, const EachView& each, const Json& params);
[[nodiscard]] Json prepare_rename(const View& view, const Json& params);
/// A workspace edit. Refuses names that are taken, files of the library, and edits after which a use would mean
/// another declaration.
[[nodiscard]] Json rename(const View& view, const EachView& each, const Json& params);

}  // namespace tdsl::lsp
