#include "runtime/app/report/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "runtime/base/json_writer.h"
#include "runtime/base/number_format.h"

namespace tdsl::rt {

namespace {

/// Estimates of remaining time are unreliable below this share.
constexpr double kShareToForecast = 0.01;

/// Negative if unknown.
double seconds_left(const ProgressState& state) {
  const double passed = state.share - state.begun;
  return passed >= kShareToForecast ? state.elapsed * (1 - state.share) / passed : -1;
}

}  // namespace

void Progress::go_on(double done, double expected) {
  if (expected <= 0) {
    expected_ = 0;
    return;
  }
  begun_ = std::clamp(done / expected, 0.0, 1.0);
  if (expected_ <= 0) expected_ = expected;
  before_ = begun_ * expected_;
}

void Progress::submitted(double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_.push_back(seconds);
}

double Progress::recorded() {
  const std::lock_guard lock(mutex_);
  return std::accumulate(seconds_.begin(), seconds_.end(), before_);
}

double Progress::share(const RankStatus& status) {
  const std::lock_guard lock(mutex_);
  for (; first_ < status.finished && !seconds_.empty(); ++first_) {
    before_ += seconds_.front();
    seconds_.pop_front();
  }
  if (expected_ <= 0) return -1;
  const double part = seconds_.empty() ? 0 : status.share * seconds_.front();
  return std::clamp((before_ + part) / expected_, 0.0, 1.0);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 100) return std::to_string(whole) + " s";
  const long long minutes = (whole + 30) / 60;
  if (minutes < 100) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string progress_text(const ProgressState& state) {
  std::string text =
      state.share < 0 ? duration_text(state.elapsed) : std::to_string(static_cast<int>(100 * state.share)) + " %";
  if (state.iteration > 0) text += ", iteration " + std::to_string(state.iteration);
  if (state.iteration > 0 && state.iterations > 0) text += " of " + std::to_string(state.iterations);
  if (state.line > 0) text += ", line " + std::to_string(state.line);
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), ", %.1f GFLOP/s", state.flops_per_second * 1e-9);
  text += rate.data();
  if (state.received_per_second >= 1)
    text += " and " + format_bytes(static_cast<plan::Index>(state.received_per_second)) + "/s received (" +
            format_bytes(state.received_bytes) + ")";
  text += " on rank 0, " + format_bytes(state.live_bytes) +
          (state.memory_bytes > 0 ? " of " + format_bytes(state.memory_bytes) : "");
  if (const double left = seconds_left(state); left >= 0) text += ", " + duration_text(left) + " left";
  return text;
}

std::string progress_json(std::string_view program, const ProgressState& state) {
  JsonWriter json;
  json.begin_object().field("program", program).field("elapsed_seconds", state.elapsed);
  if (state.share >= 0) json.field("share", state.share);
  if (state.iteration > 0) json.field("iteration", state.iteration);
  if (state.iteration > 0 && state.iterations > 0) json.field("iterations", state.iterations);
  if (state.line > 0) json.field("line", state.line);
  json.field("flops_per_second", state.flops_per_second).field("received_bytes", state.received_bytes);
  json.field("live_bytes", state.live_bytes);
  if (state.memory_bytes > 0) json.field("memory_limit", state.memory_bytes);
  if (const double left = seconds_left(state); left >= 0) json.field("seconds_left", left);
  json.end_object();
  // Strings have no line ends: these, and the blanks after them, are layout.
  std::string line;
  bool layout = false;
  for (const char c : json.text()) {
    layout = c == '\n' || (layout && c == ' ');
    if (!layout) line += c;
  }
  return line;
}

double next_line(double elapsed) {
  for (const double at : {10.0, 60.0, 120.0, 300.0, 600.0}) {
    if (elapsed < at) return at;
  }
  return 600 * (std::floor(elapsed / 600) + 1);
}

}  // namespace tdsl::rt
