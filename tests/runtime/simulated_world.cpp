#include "tests/runtime/simulated_world.h"

#include <semaphore.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

namespace tdsl::tests {

using namespace rt;

namespace {

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

/// Calls f(byte offset) for every element of a box, in C order.
template <class F>
void for_each_element(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& strides,
                      std::int64_t element_bytes, F&& f) {
  std::vector<std::int64_t> x(extents.size(), 0);
  if (std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e == 0; })) return;
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < x.size(); ++d) offset += x[d] * strides[d] * element_bytes;
    f(offset);
    std::size_t d = x.size();
    while (d > 0 && ++x[d - 1] == extents[d - 1]) x[--d] = 0;
    if (d == 0) return;
  }
}

/// A rank's turn to run. (POSIX semaphores: acquire() of this compiler's std::binary_semaphore may miss a release.)
class Turn {
 public:
  Turn() { ::sem_init(&semaphore_, 0, 0); }
  ~Turn() { ::sem_destroy(&semaphore_); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  void release() { ::sem_post(&semaphore_); }
  void acquire() {
    while (::sem_wait(&semaphore_) != 0) {}
  }

 private:
  ::sem_t semaphore_;
};

/// A box being sent or received.
struct Memory {
  std::byte* base = nullptr;
  std::int64_t element_bytes = 1;
  std::vector<std::int64_t> extents, strides;
  StatementId statement = kNoStatement;
  std::uint64_t cookie = 0;
  std::int64_t due = 0;

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t n = element_bytes;
    for (const std::int64_t e : extents) n *= e;
    return n;
  }
};

struct Control {
  ControlMessage message;
  StatementId statement = kNoStatement;
  std::int64_t payload = 0;
  std::int64_t due = 0;
};

}  // namespace

/// All messages in flight. Accessed only by the rank whose turn it is.
struct Simulation::Network {
  Network(int ranks, std::uint64_t seed, int on_a_node) : size(ranks), ranks_per_node(on_a_node), random(seed) {
    constexpr std::int64_t kSlowness[] = {0, 3, 30, 300};
    slowness = kSlowness[draw(0, 3)];
    for (int r = 0; r < ranks; ++r) {
      turn.push_back(std::make_unique<Turn>());
      constexpr std::int64_t kWeights[] = {10, 10, 10, 100, 1};
      weight.push_back(kWeights[draw(0, 4)]);
    }
    over.assign(at(ranks), false);
    rests.assign(at(ranks), 0);
    links.assign(at(ranks), nullptr);
  }

  std::int64_t draw(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  std::int64_t due() { return tick + draw(0, slowness); }
  void moved() { std::fill(rests.begin(), rests.end(), 0); }

  /// The next rank that may run; -1 when all have ended.
  int next() {
    std::int64_t sum = 0;
    for (int r = 0; r < size; ++r) sum += over[at(r)] ? 0 : weight[at(r)];
    if (sum == 0) return -1;
    std::int64_t chosen = draw(0, sum - 1);
    for (int r = 0; r < size; ++r) {
      if (over[at(r)]) continue;
      chosen -= weight[at(r)];
      if (chosen < 0) return r;
    }
    return -1;
  }
  void pass(int me) {
    const int other = next();
    if (other == me) return;
    turn[at(other)]->release();
    turn[at(me)]->acquire();
  }
  void end(int me) {
    over[at(me)] = true;
    moved();
    if (const int other = next(); other >= 0) turn[at(other)]->release();
  }

  void deliver();
  void jump_to_next();

  int size;
  int ranks_per_node;  ///< 0: a single node
  std::mt19937_64 random;
  std::int64_t slowness = 0;
  std::int64_t tick = 0;
  std::vector<std::unique_ptr<Turn>> turn;
  std::vector<std::int64_t> weight;
  std::vector<bool> over;
  std::vector<int> rests;  ///< per rank, since anything has moved
  std::vector<SimulatedLink*> links;
  using Channel = std::tuple<int, int, int>;  ///< to, from, tag
  std::map<Channel, std::deque<Memory>> sends, receives;
  int at_barrier = 0;
  std::vector<std::vector<std::vector<std::byte>>> gathered;  ///< collective calls, in order
  std::vector<int> gathered_by;
};

class Simulation::SimulatedLink final : public Link {
 public:
  SimulatedLink(Network& network, int me) : net_(network) {
    rank = me;
    size = network.size;
    has_mpi = true;
    max_tag = 32767;
    topology.local_rank = me;
    topology.local_size = size;
    topology.node_of_rank.assign(at(size), 0);
    if (network.ranks_per_node > 0) pretend_nodes(network.ranks_per_node);
    controls_.resize(at(size));
    net_.links[at(me)] = this;
  }
  ~SimulatedLink() override { net_.links[at(rank)] = nullptr; }

  void isend(int to, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie) override {
    check_peer(to, tag);
    Memory memory = memory_of(const_cast<std::byte*>(box.base), box, statement, cookie);
    const std::int64_t bytes = memory.bytes();
    net_.sends[{to, rank, tag}].push_back(std::move(memory));
    ++pending_;
    count(statement, [bytes](Traffic& t) {
      t.bytes_sent += bytes;
      ++t.messages_sent;
    });
  }
  void irecv(int from, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie) override {
    check_peer(from, tag);
    net_.receives[{rank, from, tag}].push_back(memory_of(box.base, box, statement, cookie));
    ++pending_;
  }
  std::size_t test_some(std::vector<Completion>& done) override {
    ++net_.tick;
    net_.deliver();
    if (net_.draw(0, 7) == 0) net_.pass(rank);
    std::size_t found = 0;
    for (std::size_t i = 0; i < done_.size();) {
      if (done_[i].first > net_.tick) {
        ++i;
        continue;
      }
      done.push_back(done_[i].second);
      done_[i] = done_.back();
      done_.pop_back();
      --pending_;
      ++found;
    }
    if (found > 0) net_.moved();
    return found;
  }
  [[nodiscard]] std::size_t pending() const override { return pending_; }
  void send_control(int to, int tag, std::span<const std::byte> bytes, StatementId statement,
                    std::int64_t payload) override {
    Control control{{rank, tag, {bytes.begin(), bytes.end()}}, statement, payload, net_.due()};
    const auto length = static_cast<std::int64_t>(bytes.size());
    if (to != rank) {
      count(statement, [=](Traffic& t) {
        t.control_bytes_sent += length - payload;
        t.bytes_sent += payload;
        ++(payload > 0 ? t.messages_sent : t.control_messages_sent);
      });
    }
    TDSL_CHECK(net_.links[at(to)] != nullptr, "no rank receives messages after its end");
    net_.links[at(to)]->controls_[at(rank)].push_back(std::move(control));
  }
  [[nodiscard]] std::optional<ControlMessage> receive_control() override {
    std::vector<int> ready;
    for (int from = 0; from < size; ++from) {
      if (!controls_[at(from)].empty() && controls_[at(from)].front().due <= net_.tick) ready.push_back(from);
    }
    if (ready.empty()) return std::nullopt;
    std::deque<Control>& queue =
        controls_[at(ready[static_cast<std::size_t>(net_.draw(0, static_cast<std::int64_t>(ready.size()) - 1))])];
    Control control = std::move(queue.front());
    queue.pop_front();
    net_.moved();
    const auto length = static_cast<std::int64_t>(control.message.bytes.size());
    if (control.message.source != rank) {
      if (control.payload > 0) count_received(control.message.source, control.statement, control.payload);
      count(control.statement, [&](Traffic& t) {
        t.control_bytes_received += length - control.payload;
        t.control_messages_received += control.payload > 0 ? 0 : 1;
      });
    }
    return std::move(control.message);
  }
  [[nodiscard]] std::size_t pending_control() override { return 0; }
  void ibarrier(std::uint64_t cookie) override {
    ++pending_;
    barrier_ = cookie;
    net_.moved();
    if (++net_.at_barrier < size) return;
    net_.at_barrier = 0;
    for (SimulatedLink* link : net_.links) link->done_.emplace_back(net_.due(), Completion{link->barrier_, false});
  }
  void barrier() override { (void)all_gather({}); }
  void broadcast(std::vector<std::byte>& bytes, int root) override { bytes = all_gather(bytes)[at(root)]; }
  [[nodiscard]] std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> bytes) override {
    const std::size_t call = collectives_++;
    if (call == net_.gathered.size()) {
      net_.gathered.emplace_back(at(size));
      net_.gathered_by.push_back(0);
    }
    net_.gathered[call][at(rank)] = {bytes.begin(), bytes.end()};
    ++net_.gathered_by[call];
    net_.moved();
    while (net_.gathered_by[call] < size) rest({});
    return net_.gathered[call];
  }
  [[noreturn]] void abort_all(int exit_code) override { std::exit(exit_code); }

  void rest(std::chrono::microseconds) override {
    ++net_.tick;
    ++net_.rests[at(rank)];
    bool all = true;
    for (int r = 0; r < size; ++r) all = all && (net_.over[at(r)] || net_.rests[at(r)] > 2);
    if (all) net_.jump_to_next();
    for (int r = 0; r < size; ++r) all = all && (net_.over[at(r)] || net_.rests[at(r)] > 20);
    if (all) {
      net_.moved();
      fail_check("simulation", "no rank can go on", __FILE__, __LINE__);
    }
    net_.pass(rank);
  }
  /// Time is simulated too: it advances with every query.
  [[nodiscard]] std::chrono::duration<double> now() const override {
    return std::chrono::microseconds(net_.tick += net_.draw(0, 12));
  }

 private:
  friend struct Simulation::Network;

  template <class Box>
  Memory memory_of(std::byte* base, const Box& box, StatementId statement, std::uint64_t cookie) {
    return {base,
            box.element_bytes,
            {box.extents.begin(), box.extents.end()},
            {box.strides.begin(), box.strides.end()},
            statement,
            cookie,
            net_.due()};
  }

  Network& net_;
  std::vector<std::deque<Control>> controls_;  ///< in flight to this rank, by sender
  std::vector<std::pair<std::int64_t, Completion>> done_;
  std::size_t pending_ = 0;
  std::size_t collectives_ = 0;
  std::uint64_t barrier_ = 0;
};

void Simulation::Network::deliver() {
  for (auto entry = sends.begin(); entry != sends.end();) {
    auto& [channel, queue] = *entry;
    const auto waiting = receives.find(channel);
    if (queue.empty() || queue.front().due > tick || waiting == receives.end()) {
      ++entry;
      continue;
    }
    const Memory from = std::move(queue.front());
    const Memory to = std::move(waiting->second.front());
    queue.pop_front();
    waiting->second.pop_front();
    TDSL_CHECK(from.bytes() == to.bytes(), "a message has the announced size");
    std::vector<std::byte> bytes;
    for_each_element(from.extents, from.strides, from.element_bytes, [&](std::int64_t offset) {
      bytes.insert(bytes.end(), from.base + offset, from.base + offset + from.element_bytes);
    });
    std::size_t next_byte = 0;
    for_each_element(to.extents, to.strides, to.element_bytes, [&](std::int64_t offset) {
      std::memcpy(to.base + offset, bytes.data() + next_byte, static_cast<std::size_t>(to.element_bytes));
      next_byte += static_cast<std::size_t>(to.element_bytes);
    });
    SimulatedLink& receiver = *links[at(std::get<0>(channel))];
    receiver.count_received(std::get<1>(channel), to.statement, static_cast<std::int64_t>(bytes.size()));
    receiver.done_.emplace_back(due(), Completion{to.cookie, true});
    links[at(std::get<1>(channel))]->done_.emplace_back(due(), Completion{from.cookie, false});
    moved();
    if (waiting->second.empty()) receives.erase(waiting);
    entry = queue.empty() ? sends.erase(entry) : std::next(entry);
  }
}

/// All ranks are waiting: advances the time to the next event.
void Simulation::Network::jump_to_next() {
  std::int64_t first = 0;
  const auto look = [&](std::int64_t when) {
    if (when > tick && (first == 0 || when < first)) first = when;
  };
  for (const auto& [channel, queue] : sends) look(queue.empty() ? 0 : queue.front().due);
  for (const SimulatedLink* link : links) {
    if (link == nullptr) continue;
    for (const auto& queue : link->controls_) look(queue.empty() ? 0 : queue.front().due);
    for (const auto& [when, completion] : link->done_) look(when);
  }
  tick = std::max(tick, first);
}

Simulation::Simulation(int ranks, std::uint64_t seed, int ranks_per_node)
    : network_(std::make_unique<Network>(ranks, seed, ranks_per_node)), traffic_(at(ranks)) {}
Simulation::~Simulation() = default;
void Simulation::touch() { network_->moved(); }

void Simulation::run(const std::function<void(World&)>& program) {
  Network& net = *network_;
  std::vector<std::exception_ptr> errors(at(net.size));
  std::vector<std::unique_ptr<World>> worlds;
  for (int r = 0; r < net.size; ++r) worlds.push_back(std::make_unique<World>(std::make_unique<SimulatedLink>(net, r)));
  std::vector<std::thread> threads;
  for (int r = 0; r < net.size; ++r) {
    threads.emplace_back([&, r] {
      net.turn[at(r)]->acquire();
      try {
        program(*worlds[at(r)]);
      } catch (...) { errors[at(r)] = std::current_exception(); }
      net.end(r);
    });
  }
  net.turn[at(net.next())]->release();
  for (std::thread& thread : threads) thread.join();
  for (int r = 0; r < net.size; ++r) traffic_[at(r)] = worlds[at(r)]->total_traffic();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace tdsl::tests
