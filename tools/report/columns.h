#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tools/report/trace_reader.h"

// Events for the page. A column is its values' lowest bytes, then their second ones, and so on; numbers that grow are
// differences within a lane (a thread of a rank). All columns, one after the other, are deflated and written in base64.
// data.js reads them.

namespace tdsl::report {

struct Columns {
  nlohmann::json form;  ///< unit_seconds, count, lanes [[rank, thread, events]], columns [[name, bytes of a value,
                        ///< whether differences]]
  std::string text;
};

[[nodiscard]] Columns columns_of(const ReadTrace& trace);

/// RFC 4648, with padding.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace tdsl::report
