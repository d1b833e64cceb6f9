#pragma once

#include <limits>
#include <string>
#include <vector>

#include "runtime/io/entries/text_numbers.h"
#include "tests/fuzz/naive_entries.h"

namespace tdsl::tests {

/// The fields of a line, parsed character by character.
inline std::vector<std::string> naive_csv_fields(const std::string& line) {
  const auto trim = [](std::string text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string::npos ? std::string() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
  };
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false, was_quoted = false;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const char c = line[k];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (k + 1 < line.size() && line[k + 1] == '"') {
        field += line[++k];
      } else {
        quoted = false;
      }
    } else if (c == ',') {
      fields.push_back(trim(field));
      field.clear();
      was_quoted = false;
    } else if (c == '"' && !was_quoted && trim(field).empty()) {
      quoted = was_quoted = true;
      field.clear();
    } else if (!was_quoted) {
      field += c;
    }
  }
  fields.push_back(trim(field));
  return fields;
}

/// Comma-separated values of a valid file.
inline NaiveEntries read_csv(std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  const auto number = [](const std::string& field, double& value) {
    value = std::numeric_limits<double>::quiet_NaN();
    if (field.empty()) return true;
    rt::Fields words(field);
    return words.take_number(value) != rt::Fields::Number::kMalformed && words.at_end();
  };
  const auto truth = [](const std::string& field) {
    for (const char* word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
      if (field == word) return true;
    }
    return false;
  };
  NaiveEntries result;
  std::int64_t rows = 0, columns = -1;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::vector<std::string> fields = naive_csv_fields(line);
    double value = 0;
    if (columns < 0) {
      columns = static_cast<std::int64_t>(fields.size());
      bool named = false;
      for (const std::string& field : fields) named = named || !(number(field, value) || truth(field));
      if (named) continue;
    }
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(fields.size()); ++j) {
      static_cast<void>(number(fields[static_cast<std::size_t>(j)], value));
      result.entries.push_back({columns == 1 ? std::vector{rows} : std::vector{rows, j}, value});
    }
    ++rows;
  }
  result.shape = columns == 1 ? std::vector{rows} : std::vector{rows, columns};
  return result;
}

}  // namespace tdsl::tests
