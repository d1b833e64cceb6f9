#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

using namespace tdsl::rt;
using Extents = std::vector<std::int64_t>;

namespace {

/// The tests run under a launcher, or alone with MPI already started.
Environment launched() {
  Environment environment;
  environment.launcher = Launcher::kMpirun;
  return environment;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

void send_bytes(const World::Access& access, int rank, int tag, std::span<const std::byte> bytes, StatementId statement,
                std::uint64_t cookie) {
  const std::int64_t extent = static_cast<std::int64_t>(bytes.size()), stride = 1;
  access->isend(rank, tag, ConstBox{bytes.data(), 1, {&extent, 1}, {&stride, 1}}, statement, cookie);
}

void receive_bytes(const World::Access& access, int rank, int tag, std::span<std::byte> bytes, StatementId statement,
                   std::uint64_t cookie) {
  const std::int64_t extent = static_cast<std::int64_t>(bytes.size()), stride = 1;
  access->irecv(rank, tag, MutableBox{bytes.data(), 1, {&extent, 1}, {&stride, 1}}, statement, cookie);
}

/// Waits until `count` operations have completed; returns their cookies, receives first.
std::vector<std::uint64_t> wait_for(const World::Access& access, std::size_t count) {
  std::vector<Completion> done;
  while (done.size() < count) { access->test_some(done); }
  std::vector<std::uint64_t> cookies;
  for (const bool received : {true, false}) {
    for (const Completion& completion : done) {
      if (completion.received == received) { cookies.push_back(completion.cookie); }
    }
  }
  return cookies;
}

ControlMessage wait_for_control(const World::Access& access) {
  for (;;) {
    if (auto message = access->receive_control()) { return std::move(*message); }
  }
}

}  // namespace

TEST_CASE("a run without a launcher is one rank without MPI") {
  World world{Environment{}};
  CHECK(world.rank() == 0);
  CHECK(world.size() == 1);
  CHECK_FALSE(world.has_mpi());
  auto access = world.access();
  access->barrier();
  std::string text = "same";
  access->broadcast(text, 0);
  CHECK(text == "same");
  CHECK(access->all_gather(bytes_of("x")).size() == 1);
  access->send_control(0, 5, bytes_of("self"));
  const ControlMessage message = wait_for_control(access);
  CHECK(message.tag == 5);
  CHECK(message.bytes == bytes_of("self"));
  CHECK_FALSE(access->receive_control().has_value());
  access->ibarrier(9);
  CHECK(wait_for(access, 1) == std::vector<std::uint64_t>{9});
  CHECK(access->pending() == 0);
}

TEST_CASE("a launch that cannot work is refused") {
  Environment srun;
  srun.slurm_step_tasks = 4;
  CHECK_THROWS_AS(World{srun}, LaunchError);
  Environment wrong = launched();
  wrong.launcher_size = 1000;
  CHECK_THROWS_AS(World{wrong}, LaunchError);
}

TEST_CASE("collectives and topology") {
  World world(launched());
  auto access = world.access();
  std::string text = world.rank() == world.size() - 1 ? "from the last" : "";
  access->broadcast(text, world.size() - 1);
  CHECK(text == "from the last");
  const auto all = access->all_gather(bytes_of(std::string(static_cast<std::size_t>(world.rank()), 'r')));
  REQUIRE(all.size() == static_cast<std::size_t>(world.size()));
  for (std::size_t r = 0; r < all.size(); ++r) { CHECK(all[r].size() == r); }
  CHECK(world.topology().node_of_rank.size() == all.size());
  CHECK(world.topology().node_count == 1);
  CHECK(world.topology().local_rank == world.rank());
  CHECK(world.max_tag() >= 32767);
  access->ibarrier(1);
  CHECK(wait_for(access, 1) == std::vector<std::uint64_t>{1});
  access->barrier();
}

TEST_CASE("boxes and bytes travel around the ring and are counted") {
  World world(launched());
  if (world.size() == 1) {
    auto access = world.access();
    CHECK_THROWS_AS(send_bytes(access, 0, 0, std::span<const std::byte>(), 0, 0), InternalError);
    return;
  }
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  std::vector<double> source(60), target(40, -1);
  std::iota(source.begin(), source.end(), 100.0 * world.rank());
  const Extents extents{2, 3, 2}, from{30, 6, 1}, to{1, 2, 7};
  {
    auto access = world.access();
    access->irecv(previous, 3, MutableBox{reinterpret_cast<std::byte*>(target.data()), 8, extents, to}, 2, 11);
    access->isend(next, 3, ConstBox{reinterpret_cast<const std::byte*>(source.data() + 1), 8, extents, from}, 2, 22);
    std::vector<std::byte> text(5), empty;
    const std::vector<std::byte> hello = bytes_of("hello");
    receive_bytes(access, previous, 4, text, kNoStatement, 33);
    receive_bytes(access, previous, 5, empty, 0, 44);
    send_bytes(access, next, 5, std::span<const std::byte>(empty), 0, 55);
    send_bytes(access, next, 4, hello, kNoStatement, 66);
    CHECK(access->pending() == 6);
    const auto cookies = wait_for(access, 6);
    CHECK(std::accumulate(cookies.begin(), cookies.begin() + 3, std::uint64_t{0}) == 11 + 33 + 44);
    CHECK(access->pending() == 0);
    CHECK(text == hello);
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 2; ++k) {
        CHECK(target[static_cast<std::size_t>(i + 2 * j + 7 * k)] ==
              100.0 * previous + 1 + static_cast<double>(30 * i + 6 * j + k));
      }
    }
  }
  const Traffic statement = world.statement_traffic(2);
  CHECK(statement.bytes_sent == 96);
  CHECK(statement.bytes_received == 96);
  CHECK(statement.messages_sent == 1);
  CHECK(world.statement_traffic(0).messages_received == 1);
  CHECK(world.statement_traffic(17) == Traffic{});
  const Traffic total = world.total_traffic();
  CHECK(total.bytes_received == 101);
  CHECK(total.messages_sent == 3);
  CHECK(total.control_bytes_sent == 0);
}

TEST_CASE("nodes are known when the ranks fill them in order") {
  const auto ranks_per_node = [](int nodes, std::vector<int> node_of_rank) {
    Topology topology;
    topology.node_count = nodes;
    topology.node_of_rank = std::move(node_of_rank);
    return topology.ranks_per_node();
  };
  CHECK(ranks_per_node(1, {0, 0, 0, 0}) == 4);
  CHECK(ranks_per_node(2, {0, 0, 1, 1}) == 2);
  CHECK(ranks_per_node(2, {0, 1, 0, 1}) == 1);
  CHECK(ranks_per_node(2, {0, 0, 0, 1}) == 1);
  CHECK(ranks_per_node(2, {0, 0, 1}) == 1);
  CHECK(ranks_per_node(3, {0, 1, 2}) == 1);
}

TEST_CASE("bytes that come from another node are counted") {
  Environment environment = launched();
  environment.ranks_per_node = 2;
  World world(environment);
  CHECK(world.topology().node == world.rank() / 2);
  CHECK(world.topology().node_count == (world.size() + 1) / 2);
  if (world.size() == 1) return;
  const int next = (world.rank() + 1) % world.size();
  const int previous = (world.rank() + world.size() - 1) % world.size();
  const bool elsewhere = previous / 2 != world.rank() / 2;
  const std::vector<std::byte> hello = bytes_of("hello");
  std::vector<std::byte> text(5);
  auto access = world.access();
  receive_bytes(access, previous, 4, text, 1, 33);
  send_bytes(access, next, 4, hello, 1, 66);
  CHECK(wait_for(access, 2).size() == 2);
  access->send_control(next, 7, bytes_of("abc"), 1, 2);
  CHECK(wait_for_control(access).bytes == bytes_of("abc"));
  access->barrier();
  { const World::Access ended = std::move(access); }
  CHECK(world.statement_traffic(1).bytes_received == 7);
  CHECK(world.statement_traffic(1).bytes_from_other_nodes == (elsewhere ? 7 : 0));
}

TEST_CASE("a message of another size is found") {
  World world(launched());
  if (world.size() == 1) { return; }
  auto access = world.access();
  const int peer = world.rank() ^ 1;
  if (peer < world.size()) {
    std::array<std::byte, 8> in{}, out{};
    receive_bytes(access, peer, 1, in, 0, 0);
    send_bytes(access, peer, 1, std::span<const std::byte>(out).first(7), 0, 0);
    CHECK_THROWS_AS((void)wait_for(access, 3), InternalError);
    std::vector<Completion> done;
    while (access->pending() > 0) { access->test_some(done); }
  }
  access->barrier();
}

TEST_CASE("control messages arrive from everybody, in order per sender") {
  World world(launched());
  auto access = world.access();
  constexpr int kEach = 50;
  for (int i = 0; i < kEach; ++i) {
    for (int r = 0; r < world.size(); ++r) {
      const std::string text = std::to_string(i);
      access->send_control(r, 100 + i, bytes_of(text), 0);
    }
  }
  std::vector<int> next(static_cast<std::size_t>(world.size()), 0);
  for (int n = 0; n < kEach * world.size(); ++n) {
    const ControlMessage message = wait_for_control(access);
    int& expected = next[static_cast<std::size_t>(message.source)];
    CHECK(message.tag == 100 + expected);
    CHECK(message.bytes == bytes_of(std::to_string(expected)));
    ++expected;
  }
  while (access->pending_control() > 0) {}
  access->barrier();
  CHECK_FALSE(access->receive_control().has_value());
}

TEST_CASE("one thread at a time has the MPI token") {
  World world(launched());
  {
    auto access = world.access();
    std::atomic<bool> refused = false;
    std::thread other([&] { refused = world.try_access() == nullptr; });
    other.join();
    CHECK(refused);
  }
  CHECK(world.try_access() != nullptr);
  world.access()->barrier();
}

TEST_CASE("boxes are cut into sub-boxes of limited size that cover them") {
  const std::vector<Extents> shapes{{10, 10}, {1, 100}, {3, 1, 50}, {}, {0, 5}, {7}, {2, 3, 5, 7}};
  for (const Extents& shape : shapes) {
    for (const std::int64_t limit : {1, 8, 64, 100, 400, 100000}) {
      std::int64_t total = 0;
      const auto pieces = cut_box(shape, 8, limit);
      for (const BoxPiece& piece : pieces) {
        std::int64_t bytes = 8;
        for (std::size_t d = 0; d < shape.size(); ++d) {
          bytes *= piece.extents[d];
          CHECK(piece.offset[d] + piece.extents[d] <= shape[d]);
        }
        CHECK((bytes <= limit || bytes == 8));
        total += bytes;
      }
      std::int64_t expected = 8;
      for (const std::int64_t extent : shape) { expected *= extent; }
      CHECK(total == expected);
      CHECK_FALSE(pieces.empty());
    }
  }
}
