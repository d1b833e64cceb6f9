#include "tools/report/columns.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "runtime/base/base64.h"

namespace tdsl::report {

namespace {

/// Time units per run: finer than any screen, coarse enough to compress well.
constexpr double kUnits = 1e9;

struct Column {
  const char* name;
  int width;
  bool differences;
  std::function<std::int64_t(const ReadEvent&)> value;
};

std::vector<Column> columns(double unit) {
  const auto units = [unit](double microseconds) {
    return std::max<std::int64_t>(0, std::llround(microseconds / unit));
  };
  return {{"start", 4, true, [units](const ReadEvent& e) { return units(e.start); }},
          {"length", 4, false, [units](const ReadEvent& e) { return units(e.length); }},
          {"kind", 1, false, [](const ReadEvent& e) { return e.kind; }},
          {"site", 3, false, [](const ReadEvent& e) { return e.site; }},
          {"peer", 3, false, [](const ReadEvent& e) { return e.peer; }},
          {"operation", 4, true, [](const ReadEvent& e) { return e.operation + 1; }},
          {"panel", 3, false, [](const ReadEvent& e) { return e.panel; }},
          {"bytes", 5, false, [](const ReadEvent& e) { return e.bytes; }},
          {"request", 4, true, [](const ReadEvent& e) { return e.request; }}};
}

std::uint64_t zigzag(std::int64_t difference) {
  const auto d = static_cast<std::int32_t>(difference);
  return (static_cast<std::uint32_t>(d) << 1) ^ static_cast<std::uint32_t>(d >> 31);
}

bool same_lane(const ReadEvent& a, const ReadEvent& b) { return a.rank == b.rank && a.thread == b.thread; }

void append(std::string& bytes, const Column& column, const std::vector<ReadEvent>& events) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + static_cast<std::size_t>(column.width) * events.size());
  std::int64_t last = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i == 0 || !same_lane(events[i - 1], events[i])) last = 0;
    const std::int64_t value = column.value(events[i]);
    std::uint64_t written = column.differences ? zigzag(value - last) : static_cast<std::uint64_t>(value);
    last = value;
    for (int plane = 0; plane < column.width; ++plane, written >>= 8) {
      bytes[begin + static_cast<std::size_t>(plane) * events.size() + i] = static_cast<char>(written & 0xff);
    }
  }
}

std::string deflated(const std::string& bytes) {
  uLongf length = compressBound(bytes.size());
  std::string result(length, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(result.data()), &length,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  if (code != Z_OK) throw TraceError("its events cannot be compressed");
  result.resize(length);
  return result;
}

}  // namespace

Columns columns_of(const ReadTrace& trace) {
  double end = 0;
  for (const ReadEvent& e : trace.events) end = std::max(end, e.start + e.length);
  const double unit = std::max(1e-3, end / kUnits);  // in microseconds
  Columns result;
  nlohmann::json lanes = nlohmann::json::array();
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (i == 0 || !same_lane(trace.events[i - 1], trace.events[i]))
      lanes.push_back({trace.events[i].rank, trace.events[i].thread, 0});
    lanes.back()[2] = lanes.back()[2].get<std::int64_t>() + 1;
  }
  nlohmann::json names = nlohmann::json::array();
  std::string bytes;
  for (const Column& column : columns(unit)) {
    names.push_back({column.name, column.width, column.differences});
    append(bytes, column, trace.events);
  }
  result.form = {{"unit_seconds", unit * 1e-6},
                 {"count", trace.events.size()},
                 {"lanes", std::move(lanes)},
                 {"columns", std::move(names)}};
  result.text = rt::base64(deflated(bytes));
  return result;
}

}  // namespace tdsl::report
