#include "runtime/app/report/trace_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/base/json_writer.h"

namespace tdsl::rt {

namespace {

/// The requesting rank and the number of the request.
std::uint64_t key_of(int asking, std::uint64_t request) { return static_cast<std::uint64_t>(asking) << 24 | request; }

/// Assigns overlapping intervals to different lanes, using few lanes.
class Lanes {
 public:
  int lane(std::int64_t start, std::int64_t end) {
    int number = used_;
    if (!free_.empty() && free_.top().first <= start) {
      number = free_.top().second;
      free_.pop();
    } else {
      ++used_;
    }
    free_.emplace(end, number);
    return number;
  }
  [[nodiscard]] int used() const { return used_; }

 private:
  using Entry = std::pair<std::int64_t, int>;  ///< end time, lane
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> free_;
  int used_ = 0;
};

/// An event with its lane.
struct Drawn {
  TraceEvent event;
  int rank = 0;
  int lane = 0;
};

std::int64_t end_of(const TraceEvent& e) { return e.start + std::llround(static_cast<double>(e.seconds) * 1e9); }

class TraceJson {
 public:
  TraceJson(const TraceDescription& run, const std::function<void(std::string_view)>& write)
      : run_(run), write_(write) {
    for (const auto& [number, site] : run.sites) {
      JsonWriter name;
      std::string text =
          name.value(site.line > 0 ? site.name + " (line " + std::to_string(site.line) + ")" : site.name).text();
      text.pop_back();
      names_.emplace(number, std::move(text));
    }
  }

  void write(const std::vector<TracedThread>& threads) {
    place(threads);
    text_ = "{\"displayTimeUnit\": \"ms\",\n\"otherData\": ";
    text_ += description();
    text_ += ",\n\"traceEvents\": [\n";
    for (int rank = 0; rank < run_.ranks; ++rank) {
      begin()
          .append(R"("ph":"M","name":"process_name","pid":)")
          .append(std::to_string(rank))
          .append(R"(,"args":{"name":"rank )")
          .append(std::to_string(rank))
          .append("\"}}");
    }
    for (const auto& [rank, lane] : lanes_) {
      begin()
          .append(R"("ph":"M","name":"thread_name","pid":)")
          .append(std::to_string(rank))
          .append(R"(,"tid":)")
          .append(std::to_string(lane));
      const std::string kind = lane >= kSendLane      ? "sent"
                               : lane >= kReceiveLane ? "received"
                               : lane >= kDiskLane    ? "disk " + std::to_string(lane - kDiskLane)
                               : is_watch(lane)       ? "watch"
                                                      : "thread " + std::to_string(lane);
      text_.append(R"(,"args":{"name":")").append(kind).append("\"}}");
    }
    for (const Drawn& d : drawn_) event(d);
    arrows();
    text_ += "\n]}\n";
    write_(text_);
  }

 private:
  /// True for the watch thread.
  [[nodiscard]] bool is_watch(int thread) const { return run_.threads > 0 && thread == run_.threads; }
  [[nodiscard]] bool is_of_disk(int thread) const { return run_.threads > 0 && thread > run_.threads; }
  /// A disk operation may start on one thread and complete on another.
  [[nodiscard]] int lane_of(int thread, const TraceEvent& e) const {
    if (is_transfer(e)) return kDiskLane + static_cast<int>(e.peer_);
    return is_of_disk(thread) ? kDiskLane + thread - run_.threads - 1 : thread;
  }
  [[nodiscard]] static bool is_transfer(const TraceEvent& e) {
    return e.kind() == TraceKind::kDiskRead || e.kind() == TraceKind::kDiskWrite;
  }
  [[nodiscard]] static bool is_message(const TraceEvent& e) {
    return e.kind() == TraceKind::kReceive || e.kind() == TraceKind::kSend;
  }
  void place(const std::vector<TracedThread>& threads) {
    std::map<std::pair<int, int>, std::vector<TraceEvent>> messages;  // by rank and first lane
    std::set<std::pair<int, int>> of_disk;
    for (const TracedThread& thread : threads) {
      const bool computes = !is_watch(thread.thread) && !is_of_disk(thread.thread);
      if (computes || (is_watch(thread.thread) && !std::ranges::all_of(thread.events, is_message)))
        lanes_.emplace_back(thread.rank, thread.thread);
      for (const TraceEvent& e : thread.events) {
        if (is_message(e)) {
          messages[{thread.rank, e.kind() == TraceKind::kSend ? kSendLane : kReceiveLane}].push_back(e);
        } else {
          drawn_.push_back({e, thread.rank, lane_of(thread.thread, e)});
          if (drawn_.back().lane >= kDiskLane) of_disk.emplace(thread.rank, drawn_.back().lane);
        }
      }
    }
    lanes_.insert(lanes_.end(), of_disk.begin(), of_disk.end());
    for (auto& [where, list] : messages) {
      std::ranges::sort(list, {}, &TraceEvent::start);
      Lanes lanes;
      for (const TraceEvent& e : list)
        drawn_.push_back({e, where.first, where.second + lanes.lane(e.start, end_of(e))});
      for (int lane = 0; lane < lanes.used(); ++lane) lanes_.emplace_back(where.first, where.second + lane);
    }
  }

  [[nodiscard]] std::string description() const {
    JsonWriter json;
    json.begin_object().field("program", run_.program).field("ranks", run_.ranks).field("threads", run_.threads);
    json.field("kept_milliseconds", std::int64_t{1} << run_.halvings).field("lost", run_.lost);
    json.key("sites").begin_array();
    for (const auto& [number, site] : run_.sites) {
      json.begin_object()
          .field("site", number)
          .field("file", site.file)
          .field("line", site.line)
          .field("name", site.name)
          .field("kind", site.kind)
          .end_object();
    }
    json.end_array().end_object();
    return json.text();
  }

  std::string& begin() {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    if (text_.size() > kPiece) {
      write_(text_);
      text_.clear();
    }
    text_ += std::exchange(first_, false) ? "{" : ",\n{";
    return text_;
  }

  void number(std::int64_t value) {
    std::array<char, 24> digits;
    text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
  }
  /// Prints nanoseconds as microseconds.
  void microseconds(std::int64_t ns) {
    if (ns < 0) text_ += '-';
    ns = std::abs(ns);
    number(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    if (rest == 0) return;
    text_ += '.';
    text_ += static_cast<char>('0' + rest / 100);
    text_ += static_cast<char>('0' + rest / 10 % 10);
    text_ += static_cast<char>('0' + rest % 10);
  }
  void argument(const char* name, std::int64_t value) {
    if (text_.back() != '{') text_ += ',';
    text_.append(1, '"').append(name).append("\":");
    number(value);
  }

  void event(const Drawn& d) {
    const TraceEvent& e = d.event;
    const bool sample = e.kind() == TraceKind::kMemory;
    begin().append(sample ? R"("ph":"C","pid":)" : R"("ph":"X","pid":)");
    number(d.rank);
    text_ += ",\"tid\":";
    number(d.lane);
    text_ += ",\"ts\":";
    microseconds(e.start);
    if (!sample) {
      text_ += ",\"dur\":";
      microseconds(end_of(e) - e.start);
    }
    text_.append(",\"cat\":\"").append(name_of(e.kind())).append("\",\"name\":");
    const auto named = names_.find(static_cast<int>(is_transfer(e) ? e.request_ : e.site_));
    const bool by_site = e.kind() == TraceKind::kTask || is_message(e) || is_transfer(e);
    if (by_site && named != names_.end()) {
      text_ += named->second;
    } else {
      text_.append(1, '"').append(sample ? "block bytes" : name_of(e.kind())).append(1, '"');
    }
    text_ += ",\"args\":{";
    if (!sample) arguments(e);
    if (sample || e.bytes_ > 0) argument("bytes", static_cast<std::int64_t>(e.bytes_));
    text_ += "}}";
  }

  void arguments(const TraceEvent& e) {
    if (e.site_ != TraceEvent::kNone) argument("site", static_cast<std::int64_t>(e.site_));
    if (!is_transfer(e) && e.peer_ != TraceEvent::kNone) argument("peer", static_cast<std::int64_t>(e.peer_));
    if (e.operation != TraceEvent::kNoOperation) argument("op", e.operation);
    if (e.panel_ != TraceEvent::kNone) argument("panel", static_cast<std::int64_t>(e.panel_));
    if (is_transfer(e) || e.request_ != 0)
      argument(is_transfer(e) ? "of" : "request", static_cast<std::int64_t>(e.request_));
  }

  /// Draws arrows from request to reply to the task that waited for it.
  void arrows() {
    std::unordered_map<std::uint64_t, const Drawn*> answers, tasks;
    for (const Drawn& d : drawn_) {
      if (d.event.request_ == 0 || is_transfer(d.event)) continue;
      if (d.event.kind() == TraceKind::kSend) answers[key_of(static_cast<int>(d.event.peer_), d.event.request_)] = &d;
      if (d.event.kind() == TraceKind::kTask) tasks.emplace(key_of(d.rank, d.event.request_), &d);
    }
    const auto at = [](const auto& map, std::uint64_t key) {
      const auto found = map.find(key);
      return found == map.end() ? nullptr : found->second;
    };
    for (const Drawn& d : drawn_) {
      if (d.event.kind() != TraceKind::kReceive || d.event.request_ == 0) continue;
      const std::uint64_t key = key_of(d.rank, d.event.request_);
      const Drawn* const answer = at(answers, key);
      const Drawn* const task = at(tasks, key);
      if (answer == nullptr && task == nullptr) continue;
      arrow('s', key, d, d.event.start);
      if (answer != nullptr) arrow(task != nullptr ? 't' : 'f', key, *answer, answer->event.start);
      if (task != nullptr) arrow('f', key, *task, task->event.start);
    }
  }

  void arrow(char phase, std::uint64_t key, const Drawn& d, std::int64_t when) {
    begin().append(R"("ph":")").append(1, phase).append(R"(","bp":"e","cat":"message","name":"message","id":)");
    number(static_cast<std::int64_t>(key));
    text_ += ",\"pid\":";
    number(d.rank);
    text_ += ",\"tid\":";
    number(d.lane);
    text_ += ",\"ts\":";
    microseconds(when);
    text_ += '}';
  }

  const TraceDescription& run_;
  const std::function<void(std::string_view)>& write_;
  std::map<int, std::string> names_;
  std::vector<std::pair<int, int>> lanes_;
  std::vector<Drawn> drawn_;
  std::string text_;
  bool first_ = true;
};

}  // namespace

void write_trace_json(const TraceDescription& run, const std::vector<TracedThread>& threads,
                      const std::function<void(std::string_view)>& write) {
  TraceJson(run, write).write(threads);
}

}  // namespace tdsl::rt
