#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tdsl::tools {

/// A file of --plan or --stats. Throws UsageError.
[[nodiscard]] nlohmann::json read_figures(const std::string& path);

}  // namespace tdsl::tools
