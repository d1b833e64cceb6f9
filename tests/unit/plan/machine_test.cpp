#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>
#include <vector>

#include "runtime/plan/cost/machine.h"
#include "runtime/plan/factorise.h"
#include "runtime/plan/time_tile.h"

using tdsl::plan::Machine;
using tdsl::plan::machine_text;
using tdsl::plan::parse_machine;
namespace plan = tdsl::plan;

TEST_CASE("machine constants: written values are read back exactly") {
  Machine m;
  m.latency = 1.0 / 3.0 * 1e-5;
  m.flop_rate = 123456789012.345;
  CHECK(parse_machine(machine_text(m)) == m);
  CHECK_FALSE(parse_machine(machine_text(m)) == Machine{});
}

TEST_CASE("machine constants: comments, blank lines and constants that are left out") {
  const Machine m = parse_machine("# measured\n\n  bandwidth=5e8  # slow\r\n");
  CHECK(m.bandwidth == 5e8);
  CHECK(m.latency == Machine{}.latency);
  CHECK(parse_machine("grain = 5e-5").grain == 5e-5);
  CHECK(parse_machine("") == Machine{});
}

TEST_CASE("machine constants: a task alone costs its overhead however many threads there are; more share them") {
  Machine m;
  m.task_overhead = 2;
  CHECK(tdsl::plan::seconds_of_tasks(0, m, 4) == 0);
  CHECK(tdsl::plan::seconds_of_tasks(1, m, 4) == 2);
  CHECK(tdsl::plan::seconds_of_tasks(3, m, 4) == 2);
  CHECK(tdsl::plan::seconds_of_tasks(12, m, 4) == 6);
}

TEST_CASE("machine constants: mistakes name their line") {
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("latency = 1e-6\nbandwith = 2")),
                       "line 2: no constant is called `bandwith`", std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("latency = 0")), "line 1: `0` is not a positive number",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("latency = 1e-6s")), "line 1: `1e-6s` is not a positive number",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("latency = inf")), "line 1: `inf` is not a positive number",
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("{}")), "line 1: not of the form `name = value`",
                       std::runtime_error);
}

TEST_CASE("machine constants: near ones are those between nodes unless they are named") {
  const Machine far = parse_machine("latency = 3e-5\nbandwidth = 1e8\n");
  CHECK(far.latency_within() == 3e-5);
  CHECK(far.bandwidth_within() == 1e8);
  CHECK_FALSE(far.tells_nodes());
  CHECK(machine_text(far).find("near") == std::string::npos);
  const Machine both = parse_machine("latency = 3e-5\nbandwidth = 1e8\nnear_latency = 1e-6\nnear_bandwidth = 4e9\n");
  CHECK(both.latency_within() == 1e-6);
  CHECK(both.bandwidth_within() == 4e9);
  CHECK(both.tells_nodes());
  CHECK(parse_machine(machine_text(both)) == both);
  CHECK_THROWS_WITH_AS(static_cast<void>(parse_machine("near_latency = 0")), "line 1: `0` is not a positive number",
                       std::runtime_error);
}

TEST_CASE(
    "machine constants: rates of products in rows and of loops follow from that of products unless they are named") {
  plan::Op op;
  op.op_class = plan::OpClass::kReduce;
  op.product_share = 0.75;
  const Machine one = parse_machine("flop_rate = 1e10\n");
  CHECK(plan::seconds_of_flops(op, 1e10, one) == doctest::Approx(0.75 + 0.25 * 5));
  CHECK(plan::seconds_of_loop(1e10, one) == doctest::Approx(5));
  const Machine three = parse_machine("flop_rate = 1e10\nrow_product_rate = 5e9\nloop_rate = 1e9\n");
  CHECK(plan::seconds_of_flops(op, 1e10, three) == doctest::Approx(0.75 * 2 + 0.25 * 10));
  CHECK(plan::seconds_of_loop(1e10, three) == doctest::Approx(10));
  op.op_class = plan::OpClass::kContraction;
  CHECK(plan::seconds_of_flops(op, 1e10, three) == 1);
  CHECK(parse_machine(machine_text(three)) == three);
}

TEST_CASE("factorise: tall QR is indirect where many rows pay for a second tree, or where it is forced") {
  CHECK(plan::indirect_qr(plan::Factorise::kAuto, 4, 65160, 8, 64));
  CHECK_FALSE(plan::indirect_qr(plan::Factorise::kAuto, 4, 5792, 90, 16));
  CHECK_FALSE(plan::indirect_qr(plan::Factorise::kAuto, 64, 65160, 8, 64));
  CHECK_FALSE(plan::indirect_qr(plan::Factorise::kDistributed, 4, 65160, 8, 64));
  CHECK(plan::indirect_qr(plan::Factorise::kIndirect, 4, 47, 5, 2));
}

TEST_CASE("factorise: small operands stay on one rank unless a form is forced") {
  CHECK_FALSE(plan::distributes(plan::Factorise::kAuto, 4, plan::kGatheredBytes));
  CHECK(plan::distributes(plan::Factorise::kAuto, 4, plan::kGatheredBytes + 1));
  CHECK_FALSE(plan::distributes(plan::Factorise::kAuto, 1, 100 * plan::kGatheredBytes));
  CHECK_FALSE(plan::distributes(plan::Factorise::kLocal, 4, 100 * plan::kGatheredBytes));
  CHECK(plan::distributes(plan::Factorise::kIndirect, 1, 1));
}

// Heights of time tiles, and tiles that stay in cache.

namespace tdsl::tests::time_tiles {

namespace {

using plan::Index;
using plan::Reach;

plan::StencilLoop plate(Index n, Index steps) { return {0, steps, {n, n}, {{1, 1}, {1, 1}}, 8, 5}; }

}  // namespace

TEST_CASE("time tiles: the height asked for, at most that of the loop") {
  const plan::Machine machine;
  CHECK(plan::time_tile(plate(100, 50), 8, machine, 3, 1) == 8);
  CHECK(plan::time_tile(plate(100, 5), 8, machine, 3, 1) == 5);
  CHECK(plan::time_tile(plate(100, 0), 8, machine, 3, 1) == 1);
  CHECK(plan::time_tile(plate(0, 50), 8, machine, 3, 1) == 1);
  plan::StencilLoop endless = plate(100, std::numeric_limits<Index>::max());
  endless.begin = std::numeric_limits<Index>::min();
  CHECK(plan::time_tile(endless, 8, machine, 3, 1) == 8);
}

TEST_CASE("time tiles: by price, beyond the cache or where exchanges cost more than margins") {
  plan::Machine machine;
  CHECK(plan::time_tile(plate(60, 100), 0, machine, 2, 1) == 1);  // too small
  CHECK(plan::time_tile(plate(800, 100), 0, machine, 1, 1) == 1);
  CHECK(plan::time_tile(plate(4000, 100), 0, machine, 1, 1) > 1);
  CHECK(plan::time_tile(plate(4000, 1), 0, machine, 1, 1) == 1);
  machine.exchange_overhead = 1e-2;
  CHECK(plan::time_tile(plate(800, 100), 0, machine, 2, 1) > 1);
  CHECK(plan::seconds_of_step(plate(800, 100), 8, machine, 2, 1) <
        plan::seconds_of_step(plate(800, 100), 1, machine, 2, 1));
}

TEST_CASE("time tiles: tiles fit the cache, longest in the last dimension, and margins are no longer than tiles") {
  const std::vector<Reach> near(3, Reach{1, 1});
  const auto tile = plan::cache_tile({4000, 4000}, {near[0], near[1]}, 8, 8);
  CHECK(tile[0] * tile[1] * 8 <= 256 * 1024);
  CHECK(tile[1] >= tile[0]);
  CHECK(plan::cache_tile({4000, 30}, {near[0], near[1]}, 8, 8)[1] == 30);
  CHECK(plan::cache_tile({10, 10, 10}, near, 8, 8) == std::vector<Index>{10, 10, 10});
  for (const Index edge : plan::cache_tile({900, 900, 900}, near, 33, 8)) CHECK(edge >= 64);
  CHECK(plan::cache_tile({1000000}, {near[0]}, 8, 8)[0] == 32768);
}

}  // namespace tdsl::tests::time_tiles
