#include "tools/report/trace_reader.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>

namespace tdsl::report {

namespace {

using nlohmann::json;

/// SAX handler for events, so that the file is never held as a tree; "otherData", which is small, is.
class Handler : public nlohmann::json_sax<json> {
 public:
  ReadTrace trace;
  bool has_events = false;
  std::size_t error_at = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t&) override { return number(value); }
  bool string(string_t& text) override {
    if (!in_event_ || depth_ != kEvent) return true;
    if (key_ == "ph") phase_ = text;
    if (key_ == "cat") category_ = text;
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == kEvent && in_events_) {
      in_event_ = true;
      event_ = {};
      phase_.clear();
      category_.clear();
    }
    return true;
  }
  bool end_object() override {
    if (depth_ == kEvent && in_event_) {
      in_event_ = false;
      take();
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == kEvents && key_ == "traceEvents") in_events_ = has_events = true;
    return true;
  }
  bool end_array() override {
    if (depth_ == kEvents) in_events_ = false;
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_at = position;
    return false;
  }

 private:
  static constexpr int kEvents = 2, kEvent = 3, kArguments = 4;  ///< nesting depths

  bool number(double value) {
    if (!in_event_) return true;
    const auto whole = static_cast<std::int64_t>(value);
    if (depth_ == kEvent) {
      if (key_ == "pid") event_.rank = static_cast<int>(whole);
      if (key_ == "tid") event_.thread = static_cast<int>(whole);
      if (key_ == "ts") event_.start = value;
      if (key_ == "dur") event_.length = value;
    } else if (depth_ == kArguments) {
      if (key_ == "site") event_.site = whole;
      if (key_ == "peer") event_.peer = whole;
      if (key_ == "op") event_.operation = whole;
      if (key_ == "panel") event_.panel = whole;
      if (key_ == "bytes") event_.bytes = whole;
      if (key_ == "request" || key_ == "of") event_.request = whole;
    }
    return true;
  }

  void take() {
    if (phase_ != "X" && phase_ != "C") return;
    const auto kind = std::find(std::begin(kKinds), std::end(kKinds), category_);
    if (kind == std::end(kKinds)) return;
    event_.kind = static_cast<int>(kind - std::begin(kKinds));
    trace.events.push_back(event_);
  }

  int depth_ = 0;
  bool in_events_ = false, in_event_ = false;
  std::string key_, phase_, category_;
  ReadEvent event_;
};

/// The trace's description of the run: the value of "otherData", which precedes the events.
json description_of(std::string_view text) {
  const std::size_t name = text.find("\"otherData\"");
  const std::size_t events = text.find("\"traceEvents\"");
  if (name == std::string_view::npos || events == std::string_view::npos || events < name)
    throw TraceError("this is not what --trace writes");
  const std::size_t begin = text.find('{', name);
  const std::size_t end = text.rfind('}', events);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
    throw TraceError("this is not what --trace writes");
  json description = json::parse(text.substr(begin, end + 1 - begin), nullptr, false);
  const bool whole = description.is_object() && description.contains("sites") && description["sites"].is_array() &&
                     description.contains("kept_milliseconds");
  if (!whole) throw TraceError("this is not what --trace writes");
  return description;
}

}  // namespace

ReadTrace read_trace(std::string_view text) {
  json description = description_of(text);
  Handler handler;
  if (!json::sax_parse(text.begin(), text.end(), &handler))
    throw TraceError("this is no JSON (byte " + std::to_string(handler.error_at) + ")");
  if (!handler.has_events) throw TraceError("this is not what --trace writes");
  handler.trace.description = std::move(description);
  std::ranges::stable_sort(handler.trace.events, {},
                           [](const ReadEvent& e) { return std::tuple(e.rank, e.thread, e.start); });
  return std::move(handler.trace);
}

}  // namespace tdsl::report
