#include <array>
#include <utility>

#include "tools/report/columns.h"
#include "tools/report/page.h"

namespace tdsl::report {

namespace {

std::string for_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

/// JSON for a script element, escaped so that no user text can end the element or start a comment in it.
std::string for_script(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string page_of(const Contents& contents) {
  nlohmann::json data{
      {"stats", contents.statistics}, {"source", contents.source}, {"trace", nullptr}, {"events", nullptr}};
  std::string events;
  if (contents.trace != nullptr) {
    Columns columns = columns_of(*contents.trace);
    data["trace"] = contents.trace->description;
    data["events"] = std::move(columns.form);
    events = std::move(columns.text);
  }
  const std::array<std::pair<std::string_view, std::string>, 3> values{{
      {"@TITLE@", for_html(contents.statistics.value("program", std::string("report")))},
      {"@DATA@", for_script(data)},
      {"@EVENTS@", std::move(events)},
  }};
  std::string page;
  std::string_view rest = kPage;
  for (const auto& [place, value] : values) {
    const std::size_t at = rest.find(place);
    page.append(rest.substr(0, at)).append(value);
    rest.remove_prefix(at + place.size());
  }
  return page.append(rest);
}

}  // namespace tdsl::report
