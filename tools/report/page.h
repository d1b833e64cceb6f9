#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/trace_reader.h"

namespace tdsl::report {

/// Template of the page, with the placeholders @TITLE@, @DATA@ and @EVENTS@. Generated from the files of this folder.
extern const std::string_view kPage;

struct Contents {
  nlohmann::json statistics;         ///< from --stats
  const ReadTrace* trace = nullptr;  ///< from --trace, if available
  std::vector<std::string> source;   ///< the program's lines, if available
};

/// A self-contained HTML page that needs no network.
[[nodiscard]] std::string page_of(const Contents& contents);

}  // namespace tdsl::report
