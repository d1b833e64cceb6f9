#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tools/lsp/features/view.h"

namespace tdsl::lsp {

/// The innermost call whose parentheses enclose the place, and the number of the argument there.
struct CallAt {
  std::string name;
  std::size_t argument = 0;
};
[[nodiscard]] std::optional<CallAt> call_at(const View& view, const View::Place& place);

/// The declaration of the callable of that name, or null.
[[nodiscard]] const frontend::IndexDeclaration* callable_named(const View& view, const std::string& name);

}  // namespace tdsl::lsp
