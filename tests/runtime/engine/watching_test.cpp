#include <set>

#include "runtime/app/report/progress.h"
#include "runtime/app/watch/watch.h"
#include "runtime/engine/watch/heartbeat.h"
#include "tests/runtime/engine/harness.h"
#include "tests/runtime/simulated_world.h"

// Signs of life, status of ranks, and progress.

namespace tdsl::tests {

using rt::Heartbeat;
using rt::Pulse;

TEST_CASE("watching: every rank but the first has a parent, and ranks know each other") {
  for (const int size : {1, 2, 17, 18, 300}) {
    std::set<std::pair<int, int>> links;
    for (int rank = 0; rank < size; ++rank) {
      const Heartbeat heart(rank, size, 15, 0);
      for (const int other : heart.neighbours()) links.emplace(rank, other);
    }
    CHECK(static_cast<int>(links.size()) == 2 * (size - 1));
    for (const auto& [rank, other] : links) CHECK(links.contains({other, rank}));
  }
}

TEST_CASE("watching: a silent neighbour is lost, unless this rank slept itself") {
  Heartbeat heart(0, 3, 15, 0);
  for (double now = 1; now < 20; ++now) {
    heart.hear(1, {1, false, "h2: line 4"}, now);
    if (now <= 5) heart.hear(2, {1, false, "h3: line 7, `C`: waits for memory"}, now);
    const auto lost = heart.tick(now);
    CHECK(lost == (now < 20 ? std::nullopt : std::optional(2)));
  }
  CHECK(heart.tick(20) == 2);
  CHECK(heart.where(2) == "h3: line 7, `C`: waits for memory");
  CHECK(heart.silence(2, 20) == 15);
  CHECK(!heart.tick(40));  // suspended for 20 seconds
  for (double now = 41; now < 55; ++now) CHECK(!heart.tick(now));
  CHECK(heart.tick(55).has_value());

  Heartbeat patient(0, 2, 0, 0);
  for (double now = 1; now < 100; ++now) CHECK(!patient.tick(now));
  // Children of a silent parent alternate.
  Heartbeat first(1, 40, 15, 12), third(3, 40, 15, 12);
  for (const double now : {14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 26.0}) CHECK((!first.tick(now) && !third.tick(now)));
  CHECK(first.tick(27.1).has_value());
  for (const double now : {27.1, 29.0, 30.9}) CHECK(!third.tick(now));
  CHECK(third.tick(31.1).has_value());
}

TEST_CASE("watching: a pulse speaks for all ranks below, a standstill is told once") {
  const Pulse own{5, true, "h1: idle"};
  CHECK(rt::decode_pulse(rt::encode(own)) == own);
  Heartbeat heart(1, 40, 15, 0);   // its children are 17 to 32
  CHECK(!heart.sum(own, 0).idle);  // no descendant has reported
  heart.hear(0, {1000, false, ""}, 1);
  for (int child = 17; child <= 32; ++child) heart.hear(child, {2, true, ""}, 1);
  CHECK(heart.sum(own, 2) == Pulse{37, true, "h1: idle"});
  CHECK(!heart.sum(own, 5).idle);  // their report is outdated
  heart.hear(20, {3, false, ""}, 2);
  CHECK(heart.sum(own, 2) == Pulse{38, false, "h1: idle"});

  rt::Standstill still;
  CHECK(!still.lasts(7, 0, 60));
  CHECK(!still.lasts(7, 59, 60));
  CHECK(!still.lasts(8, 60, 60));
  CHECK(still.lasts(8, 120, 60));
  CHECK(!still.lasts(8, 121, 60));
}

TEST_CASE("watching: ranks say where they are, and rank 0 hears from all") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Simulation simulation(5, seed);
    simulation.run([&](rt::World& world) {
      RunSettings settings{1, {7}};
      settings.world = &world;
      settings.adjust = [&](rt::RunSetup& setup) { setup.engine_options.host = "h" + std::to_string(world.rank()); };
      const auto found = values<double>();
      run(settings, [&](TestSession& session) {
        rt::Engine& engine = session.inside().sink.engine();
        int asked = 0;
        plan::OpBuilder op(plan::OpClass::kSource, "X", 1, 1);
        op.out("i", 30).out("j", 30);
        Tensor<double> x = session.compute<double>(op, [&engine, &asked](const TaskArgs& args) {
          const rt::RankStatus status = engine.status();
          asked += status.waiting == rt::Waiting::kKernel && status.busy && status.name == "X" ? 1 : 1000;
          rt::fill<double>(args.outputs[0], 1.0);
        });
        session.collect(x, found);
        session.inside().recorder.flush();
        if (world.rank() == 0) engine.ask_statuses("asked");
        if (world.rank() == 3) engine.ask_statuses("asked");  // perhaps during the operation
        std::optional<rt::Engine::RollCall> call;
        while (engine.share(world.rank() == 0 && (call = engine.statuses()) ? "done" : "more") == "more") {}
        engine.wait_all();
        CHECK(asked < 1000);
        if (world.rank() != 0) return;
        CHECK(call->reason == "asked");
        REQUIRE(call->answers.size() == 5);
        for (int rank = 0; rank < 5; ++rank)
          CHECK(call->answers[static_cast<std::size_t>(rank)].starts_with("h" + std::to_string(rank) + ": "));
        call->answers[3].clear();
        const std::string lines = rt::status_lines(*call, 4);
        CHECK(lines.starts_with("asked\n  rank 3: does not answer\n  rank 0: "));
        CHECK(lines.ends_with("  and 1 more\n"));
      });
      CHECK((*found)[17] == 1.0);
    });
  }
}

TEST_CASE("watching: a status is a sentence") {
  rt::RankStatus status;
  status.line = 12;
  status.name = "C";
  status.waiting = rt::Waiting::kPiece;
  status.tensor = "B";
  status.source = 4;
  CHECK(rt::text_of(status) == "line 12, `C`: waits for a piece of `B` from rank 4");
  status.waiting = rt::Waiting::kKernel;
  status.seconds = 75.3;
  CHECK(rt::text_of(status) == "line 12, `C`: its kernel has been running for 75 s");
  status.line = 0;
  status.name = "the other ranks, at the end";
  status.waiting = rt::Waiting::kRanks;
  CHECK(rt::text_of(status) == "waits for the other ranks, at the end");
}

TEST_CASE("watching: progress is the share of predicted seconds") {
  rt::Progress progress;
  rt::RankStatus status;
  progress.submitted(10);
  CHECK(progress.share(status) == -1);
  progress.expect(40);
  for (const double seconds : {10.0, 20.0}) progress.submitted(seconds);
  status.finished = 1;
  CHECK(progress.share(status) == 0.25);
  status.finished = 2;
  status.share = 0.5;
  CHECK(progress.share(status) == 0.75);
  status.finished = 3;
  CHECK(progress.share(status) == 1);

  rt::Progress later;  // resumes from a checkpoint after 30 s of 40
  later.go_on(30, 40);
  CHECK(later.share(rt::RankStatus{}) == 0.75);
  later.submitted(5);
  CHECK(later.recorded() == 35);
  rt::Progress anew;  // with a plan that takes twice as long
  anew.expect(80);
  anew.go_on(30, 40);
  CHECK(anew.recorded() == 60);
  CHECK(anew.begun() == 0.75);

  rt::ProgressState state{120, 0.25, 17, 40, 12, 2.5e9, 3 << 20, 5 << 20, 1 << 20, 4 << 20};
  CHECK(
      rt::progress_text(state) ==
      "25 %, iteration 17 of 40, line 12, 2.5 GFLOP/s and 3.0 MiB/s received (5.0 MiB) on rank 0, 1.0 MiB of 4.0 MiB, "
      "6 min left");
  state.share = 0.85;
  state.begun = 0.75;
  CHECK(rt::progress_text(state).ends_with(", 3 min left"));
  state.share = 0.75;
  state.begun = 0.5;
  CHECK(rt::progress_json("heat", state) ==
        R"({"program": "heat","elapsed_seconds": 120,"share": 0.75,"iteration": 17,"iterations": 40,"line": 12,)"
        R"("flops_per_second": 2.5e+09,"received_bytes": 5242880,"live_bytes": 1048576,"memory_limit": 4194304,)"
        R"("seconds_left": 120})");
  state = {90, -1, 0, 0, 0, 0, 0, 0, 512, 0};
  CHECK(rt::progress_text(state) == "90 s, 0.0 GFLOP/s on rank 0, 512 bytes");
  CHECK(rt::duration_text(12'000) == "3 h 20 min");
  CHECK(rt::next_line(0) == 10);
  CHECK(rt::next_line(10) == 60);
  CHECK(rt::next_line(599) == 600);
  CHECK(rt::next_line(1300) == 1800);
}

}  // namespace tdsl::tests
