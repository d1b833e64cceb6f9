#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tdsl::tools {

/// Reads a --plan or --stats file. Throws UsageError.
[[nodiscard]] nlohmann::json read_figures(const std::string& path);

}  // namespace tdsl::tools
