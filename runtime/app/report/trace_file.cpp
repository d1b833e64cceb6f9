#include "runtime/app/report/trace_file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/app/session/together.h"
#include "runtime/disk/disk.h"

namespace tdsl::rt {

namespace {

constexpr int kIdlePolls = 100;  ///< polls before the core is yielded
constexpr int kRounds = 8;

}  // namespace

ControlMessage await_message(World& world, int tag) {
  for (int looks = 0;; ++looks) {
    std::optional<ControlMessage> message = world.access()->receive_control();
    if (message && message->tag == tag) return std::move(*message);
    if (!message) world.rest(std::chrono::microseconds(looks < kIdlePolls ? 0 : 50));
  }
}

void send_message(World& world, int rank, int tag, std::span<const std::byte> bytes) {
  world.access()->send_control(rank, tag, bytes);
  while (world.access()->pending_control() > 0) world.rest(std::chrono::microseconds(0));
}

double clock_offset(World& world) {
  if (world.rank() == 0) {
    for (int left = kRounds * (world.size() - 1); left > 0; --left) {
      const int asking = await_message(world, kClockAsk).source;
      const double now = world.now();
      send_message(world, asking, kClockAnswer, std::as_bytes(std::span(&now, 1)));
    }
    return 0;
  }
  double offset = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    const double before = world.now();
    send_message(world, 0, kClockAsk, {});
    const ControlMessage answer = await_message(world, kClockAnswer);
    const double after = world.now();
    double there = 0;
    TDSL_CHECK(answer.bytes.size() == sizeof there, "a clock's answer is a time");
    std::memcpy(&there, answer.bytes.data(), sizeof there);
    if (after - before >= fastest) continue;
    fastest = after - before;
    offset = there - (before + after) / 2;
  }
  return offset;
}

namespace {

constexpr int kHalvings = 41;
/// Minimum buffer size per thread, in events.
constexpr std::size_t kLeastEvents = 4096;

/// A rank's event counts.
struct TraceCounts {
  std::array<std::int64_t, kHalvings> left{};  ///< events after k halvings
  std::int64_t halvings = 0;
  std::int64_t lost = 0;
};

TraceCounts counts_of(const Trace& trace) {
  TraceCounts counts;
  for (int t = 0; t < trace.threads(); ++t) {
    const TraceBuffer& buffer = trace.buffer(t);
    counts.halvings = std::max<std::int64_t>(counts.halvings, buffer.halvings());
    counts.lost += buffer.lost();
    for (const TraceEvent& event : buffer.events()) {
      for (int h = 0; h < kHalvings && TraceBuffer::keeps(event, h); ++h) ++counts.left[static_cast<std::size_t>(h)];
    }
  }
  return counts;
}

}  // namespace

int common_halvings(const std::vector<std::int64_t>& counts, int least, std::int64_t most) {
  auto h = static_cast<std::size_t>(least);
  while (h + 1 < counts.size() && counts[h] > most) ++h;
  return static_cast<int>(h);
}

TraceFile::TraceFile(World& world, const std::string& path, int threads) : world_(world) {
  on_first_rank(world, {}, [&] { file_.emplace(OutputFile::create(path, Unfinished::kUnnamed)); });
  offset_ = clock_offset(world);
  double zero = world.now();
  begin_ = zero;
  std::string text(reinterpret_cast<const char*>(&zero), sizeof zero);
  world.access()->broadcast(text, 0);
  std::memcpy(&zero, text.data(), sizeof zero);
  const auto all = static_cast<std::size_t>(threads + 1 + kDiskThreads) * static_cast<std::size_t>(world.size());
  trace_ = std::make_unique<Trace>(threads, kDiskThreads, std::max(kLeastEvents, kMostEvents / all), zero - offset_);
}

/// Retained events: per thread their number, then the events.
std::vector<std::byte> TraceFile::encode(int halvings, std::size_t most, double drift) const {
  std::vector<std::byte> bytes;
  const auto put = [&bytes](const auto& value) {
    const auto view = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), view.begin(), view.end());
  };
  for (int t = 0; t < trace_->threads(); ++t) {
    std::vector<TraceEvent> kept;
    for (const TraceEvent& event : trace_->buffer(t).events()) {
      if (TraceBuffer::keeps(event, halvings)) kept.push_back(event);
    }
    if (kept.size() > most) kept.resize(most);
    for (TraceEvent& event : kept) event.start += std::llround(drift * static_cast<double>(event.start));
    put(static_cast<std::uint64_t>(kept.size()));
    for (const TraceEvent& event : kept) put(event);
  }
  return bytes;
}

namespace {

void decode_threads(std::span<const std::byte> bytes, int rank, std::vector<TracedThread>& threads) {
  for (int thread = 0; !bytes.empty(); ++thread) {
    std::uint64_t count = 0;
    std::memcpy(&count, bytes.data(), sizeof count);
    bytes = bytes.subspan(sizeof count);
    TracedThread& entry = threads.emplace_back(TracedThread{rank, thread, {}});
    entry.events.resize(count);
    if (count > 0) std::memcpy(static_cast<void*>(entry.events.data()), bytes.data(), count * sizeof(TraceEvent));
    bytes = bytes.subspan(count * sizeof(TraceEvent));
  }
}

}  // namespace

void TraceFile::write(TraceDescription run) {
  world_.access()->barrier();  // all engines have finished, so no engine messages are in flight
  const double end = clock_offset(world_);
  const double lasted = world_.now() - begin_;
  const double drift = lasted > 0 ? (end - offset_) / lasted : 0;
  const TraceCounts mine = counts_of(*trace_);
  std::vector<std::int64_t> left(kHalvings);
  std::int64_t least = 0;
  for (const std::vector<TraceCounts>& theirs : world_.access()->all_gather_values(std::span(&mine, 1))) {
    least = std::max(least, theirs.front().halvings);
    run.lost += theirs.front().lost;
    for (std::size_t h = 0; h < left.size(); ++h) left[h] += theirs.front().left[h];
  }
  run.halvings = common_halvings(left, static_cast<int>(least), static_cast<std::int64_t>(kMostEvents));
  run.ranks = world_.size();
  run.threads = trace_->computing();
  const auto all = static_cast<std::size_t>(run.ranks) * static_cast<std::size_t>(trace_->threads());
  const std::size_t most = left[static_cast<std::size_t>(run.halvings)] > static_cast<std::int64_t>(kMostEvents)
                               ? kMostEvents / all
                               : kMostEvents;
  const std::vector<std::byte> events = encode(run.halvings, most, drift);
  if (world_.rank() != 0) send_message(world_, 0, kTraceEvents, events);
  on_first_rank(world_, {}, [&] {
    std::vector<TracedThread> threads;
    decode_threads(events, 0, threads);
    for (int others = world_.size() - 1; others > 0; --others) {
      const ControlMessage message = await_message(world_, kTraceEvents);
      decode_threads(message.bytes, message.source, threads);
    }
    std::ranges::sort(threads, {}, [](const TracedThread& t) { return std::pair(t.rank, t.thread); });
    write_file(run, threads);
  });
}

void TraceFile::write_file(const TraceDescription& run, const std::vector<TracedThread>& threads) {
  std::int64_t offset = 0;
  write_trace_json(run, threads, [&](std::string_view text) {
    file_->write(std::as_bytes(std::span(text)), offset);
    offset += static_cast<std::int64_t>(text.size());
  });
  file_->sync();
  file_->commit();
}

}  // namespace tdsl::rt
