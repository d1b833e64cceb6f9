#pragma once

#include <string>
#include <vector>

#include "codegen/plugin/clang.h"
#include "ir/graph/foreign_header.h"

namespace tdsl::codegen {

/// `read_header` of codegen/plugin/clang.h.
[[nodiscard]] ir::HeaderFacts clang_read_header(const std::string& path,
                                                const std::vector<ir::ForeignDeclaration>& declarations,
                                                const std::vector<std::string>& flags, HeaderNames* names);

}  // namespace tdsl::codegen
