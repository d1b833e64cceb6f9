#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/app/report/profile.h"
#include "runtime/app/report/trace_file.h"
#include "runtime/app/report/trace_json.h"
#include "runtime/engine/trace.h"
#include "tests/runtime/engine/random.h"
#include "tests/runtime/simulated_world.h"

namespace tdsl::tests {

using rt::TraceBuffer;
using rt::TraceEvent;
using rt::TraceKind;

TEST_CASE("trace: a full buffer keeps every second segment, and all of those") {
  std::mt19937_64 random(3);
  for (const std::size_t capacity : {8U, 100U, 1000U}) {
    TraceBuffer buffer(capacity);
    std::vector<TraceEvent> all;
    std::int64_t time = 0;
    for (int i = 0; i < 20000; ++i) {
      time += static_cast<std::int64_t>(random() % 2000000);  // about one in a segment
      all.emplace_back(TraceKind::kTask, time, 1e-6);
      all.back().request(static_cast<std::uint32_t>(i));
      buffer.add(all.back());
    }
    CAPTURE(capacity);
    CHECK(buffer.lost() == 0);
    CHECK(buffer.events().size() <= capacity);
    CHECK(buffer.events().size() > capacity / 4);
    std::erase_if(all, [&](const TraceEvent& e) { return !TraceBuffer::keeps(e, buffer.halvings()); });
    REQUIRE(all.size() == buffer.events().size());
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(+all[i].request_ == +buffer.events()[i].request_);
  }
  TraceBuffer crowded(4);
  for (int i = 0; i < 10; ++i) crowded.add({TraceKind::kWait, 5, 0});
  CHECK(crowded.events().size() == 4);
  CHECK(crowded.lost() == 6);
}

TEST_CASE("trace: all ranks halve as often as the fullest one") {
  CHECK(rt::common_halvings({100, 50, 25, 13}, 0, 100) == 0);
  CHECK(rt::common_halvings({100, 50, 25, 13}, 0, 30) == 2);
  CHECK(rt::common_halvings({100, 50, 25, 13}, 3, 1000) == 3);
  CHECK(rt::common_halvings({100, 50, 25, 13}, 0, 1) == 3);
}

TEST_CASE("trace: numbers that do not fit are none") {
  const TraceEvent event = TraceEvent(TraceKind::kSend, -5, 0.25)
                               .peer(1 << 20)
                               .site(-1)
                               .step(7, 3)
                               .bytes(std::int64_t{1} << 50)
                               .request(0x5000001);
  CHECK(event.kind() == TraceKind::kSend);
  CHECK(event.start == -5);
  CHECK(+event.peer_ == TraceEvent::kNone);
  CHECK(+event.site_ == TraceEvent::kNone);
  CHECK(event.operation == 7);
  CHECK(+event.panel_ == 3);
  CHECK(+event.bytes_ == TraceEvent::kMostBytes);
  CHECK(+event.request_ == 1);
}

TEST_CASE("trace: Chrome's JSON, with arrows from a request to its answer and its task") {
  rt::TraceDescription run;
  run.program = "say \"hi\"";
  run.ranks = 2;
  run.sites = {{4, {"p.tdsl", 12, "C", "contraction"}}};
  std::vector<rt::TracedThread> threads(2);
  threads[0].events = {TraceEvent(TraceKind::kReceive, 1000, 4e-6).peer(1).site(4).step(0, 0).bytes(64).request(9),
                       TraceEvent(TraceKind::kReceive, 2000, 1e-6).peer(1).site(4).step(0, 1).bytes(8).request(10),
                       TraceEvent(TraceKind::kTask, 6001, 2e-6).site(4).step(0, 0).bytes(32).request(9),
                       TraceEvent(TraceKind::kMemory, 7000, 0).bytes(96)};
  threads[1].rank = 1;
  threads[1].events = {TraceEvent(TraceKind::kSend, 3000, 1e-6).peer(0).site(4).bytes(64).request(9),
                       TraceEvent(TraceKind::kWait, -1500, 2e-6)};
  // The second disk thread has completed an operation of the first.
  threads.push_back({1,
                     3,
                     {TraceEvent(TraceKind::kDiskWrite, 4000, 2e-6).peer(0).site(4).bytes(128).request(4),
                      TraceEvent(TraceKind::kControl, 9000, 1e-6).peer(0)}});
  std::string text;
  rt::write_trace_json(run, threads, [&](std::string_view piece) { text += piece; });
  const auto has = [&](const char* line) { CHECK_MESSAGE(text.find(line) != std::string::npos, line << "\n" << text); };
  has(R"~("program": "say \"hi\"")~");
  has(R"~({"ph":"X","pid":0,"tid":0,"ts":6.001,"dur":2,"cat":"task","name":"C (line )~"
      R"~(12)","args":{"site":4,"op":0,"panel":0,"request":9,"bytes":32}})~");
  has(R"~({"ph":"X","pid":0,"tid":10000,"ts":1,"dur":4,"cat":"receive","name":"C (line )~"
      R"~(12)","args":{"site":4,"peer":1,"op":0,"panel":0,"request":9,"bytes":64}})~");
  has(R"~("tid":10001,"ts":2,)~");  // overlaps the previous one
  has(R"~({"ph":"X","pid":1,"tid":20000,"ts":3,"dur":1,"cat":"send")~");
  has(R"~({"ph":"X","pid":1,"tid":0,"ts":-1.500,"dur":2,"cat":"wait","name":"wait","args":{}})~");
  has(R"~({"ph":"C","pid":0,"tid":0,"ts":7,"cat":"memory","name":"block bytes","args":{"bytes":96}})~");
  has(R"~({"ph":"s","bp":"e","cat":"message","name":"message","id":9,"pid":0,"tid":10000,"ts":1})~");
  has(R"~({"ph":"t","bp":"e","cat":"message","name":"message","id":9,"pid":1,"tid":20000,"ts":3})~");
  has(R"~({"ph":"f","bp":"e","cat":"message","name":"message","id":9,"pid":0,"tid":0,"ts":6.001})~");
  has(R"~({"ph":"X","pid":1,"tid":9000,"ts":4,"dur":2,"cat":"disk write","name":"C (line )~"
      R"~(12)","args":{"site":4,"of":4,"bytes":128}})~");
  has(R"~({"ph":"X","pid":1,"tid":9001,"ts":9,"dur":1,"cat":"control",)~");
  has(R"~({"ph":"M","name":"thread_name","pid":1,"tid":9001,"args":{"name":"disk 1"}})~");
  CHECK(text.find("\"id\":10,") == std::string::npos);  // its reply is not in the trace, and no task waited for it
}

TEST_CASE("profile: a table, slowest line first; disk columns only if tensors spill") {
  rt::Profile profile{"ridge",
                      2,
                      4,
                      {{{"ridge.tdsl", 7}, {"G", "H"}, 1.5, 1.25, 0.25, 0, 2.5e9, 3 << 20, 0, 0},
                       {{}, {}, 0.5, 0, 0.25, 0, 0, 0, 0, 0}}};
  CHECK(rt::profile_text(profile) ==
        "profile of ridge: 2.000 s on 2 ranks x 4 threads; kernel and waiting seconds are per thread\n"
        "    line    wall s     %  kernel s waiting s  GFLOP/s    received  what\n"
        "       7     1.500  75.0     1.250     0.250      2.0     3.0 MiB  G, H\n"
        "       -     0.500  25.0     0.000     0.250      0.0     0 bytes  (no step open: planning, reading, "
        "printing)\n");
  profile.lines[0].disk = 0.125;
  profile.lines[0].read = 6 << 20;
  const std::string spilled = rt::profile_text(profile);
  CHECK(spilled.find("GFLOP/s    received  disk s        read     written  what\n") != std::string::npos);
  CHECK(spilled.find("    3.0 MiB   0.125     6.0 MiB     0 bytes  G, H\n") != std::string::npos);
}

namespace {

struct Seen {
  Index tasks = 0, received = 0, sent = 0;
  std::map<std::tuple<int, int, std::uint64_t>, Index> asked, answered;  ///< bytes by requester, owner and number
};

/// One rank of a random program, traced.
void run_traced(rt::World& world, std::uint32_t seed, Seen& seen) {
  rt::Trace trace(1, 0, 1 << 16, world.now());
  RunSettings settings;
  settings.world = &world;
  settings.tile = {5};
  settings.adjust = [&](rt::RunSetup& setup) { setup.engine_options.trace = &trace; };
  RunResult about;
  CHECK(run_random(seed, settings, &about) == 0);
  Seen mine;
  for (const TraceEvent& e : trace.buffer(0).events()) {
    const auto bytes = static_cast<Index>(e.bytes_);
    const auto peer = static_cast<int>(e.peer_);
    const auto request = static_cast<std::uint64_t>(e.request_);
    if (e.kind() == TraceKind::kTask) ++mine.tasks;
    if (e.kind() == TraceKind::kReceive) mine.received += bytes;
    if (e.kind() == TraceKind::kSend) mine.sent += bytes;
    if (e.kind() == TraceKind::kReceive) seen.asked[{world.rank(), peer, request}] = bytes;
    if (e.kind() == TraceKind::kSend) seen.answered[{peer, world.rank(), request}] = bytes;
  }
  Index tasks = 0;
  double walls = 0;
  for (const rt::SiteStatistics& site : about.sites) {
    tasks += site.tasks;
    walls += site.front.wall;
    CHECK(site.kernel_seconds <= static_cast<double>(site.tasks) * (site.last_end - site.first_start) + 1e-9);
  }
  CHECK(trace.buffer(0).lost() == 0);
  CHECK(mine.tasks == tasks);
  CHECK(walls > 0);
  CHECK(mine.received == world.total_traffic().bytes_received);
  CHECK(mine.sent == world.total_traffic().bytes_sent);
  Index from_all = 0;
  for (const std::int64_t bytes : world.received_from()) from_all += bytes;
  CHECK(from_all == world.total_traffic().bytes_received);
  seen.tasks += mine.tasks;
}

}  // namespace

TEST_CASE("engine: traces hold every task and byte, and requests meet their answers") {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    Simulation simulation(3, seed);
    Seen seen;
    simulation.run([&](rt::World& world) { run_traced(world, seed, seen); });
    CAPTURE(seed);
    CHECK(seen.tasks > 0);
    CHECK(seen.asked == seen.answered);
  }
}

}  // namespace tdsl::tests
