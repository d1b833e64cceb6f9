#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/trace_reader.h"

namespace tdsl::report {

/// The page without what it shows, which goes to @TITLE@, @DATA@ and @EVENTS@. Made of the files of this folder.
extern const std::string_view kPage;

struct Contents {
  nlohmann::json statistics;         ///< of --stats
  const ReadTrace* trace = nullptr;  ///< of --trace, if there is one
  std::vector<std::string> source;   ///< lines of the program, if it is there
};

/// One HTML page that needs no other file and no network.
[[nodiscard]] std::string page_of(const Contents& contents);

}  // namespace tdsl::report
