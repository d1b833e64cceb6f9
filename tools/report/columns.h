#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/report/trace_reader.h"

// Encodes events for the page. A column stores all lowest bytes of its values, then all second bytes, and so on;
// monotonic values are stored as differences within a lane (a thread of a rank). All columns are concatenated, deflated
// and encoded in base64. Decoded by data.js.

namespace tdsl::report {

struct Columns {
  nlohmann::json form;  ///< unit_seconds, count, lanes [[rank, thread, events]], columns [[name, bytes per value,
                        ///< whether differences]]
  std::string text;
};

[[nodiscard]] Columns columns_of(const ReadTrace& trace);

}  // namespace tdsl::report
