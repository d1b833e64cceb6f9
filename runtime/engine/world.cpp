#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/engine/link.h"
#include "runtime/engine/mpi/mpi_world.h"

// World and its Access delegate to the link.

namespace tdsl::rt {

int Topology::ranks_per_node() const {
  const auto ranks = static_cast<int>(node_of_rank.size());
  if (node_count < 1 || ranks % node_count != 0) return 1;
  const int each = ranks / node_count;
  for (int rank = 0; rank < ranks; ++rank) {
    if (node_of_rank[static_cast<std::size_t>(rank)] != rank / each) return 1;
  }
  return each;
}

World::World(std::unique_ptr<Link> link) : link_(std::move(link)) {}
World::~World() = default;

int World::rank() const { return link_->rank; }
int World::size() const { return link_->size; }
bool World::has_mpi() const { return link_->has_mpi; }
const Topology& World::topology() const { return link_->topology; }
int World::max_tag() const { return link_->max_tag; }

World::Access World::access() {
  link_->mutex.lock();
  return Access(link_.get());
}

std::optional<World::Access> World::try_access() {
  if (!link_->mutex.try_lock()) return std::nullopt;
  return Access(link_.get());
}

void World::rest(std::chrono::microseconds least) const { link_->rest(least); }
double World::now() const { return link_->now().count(); }

Traffic World::total_traffic() const {
  const std::scoped_lock lock(link_->mutex);
  return link_->total;
}

Traffic World::statement_traffic(StatementId statement) const {
  const std::scoped_lock lock(link_->mutex);
  const auto index = static_cast<std::size_t>(statement);
  return index < link_->statements.size() ? link_->statements[index] : Traffic{};
}

std::vector<std::int64_t> World::received_from() const {
  const std::scoped_lock lock(link_->mutex);
  std::vector<std::int64_t> bytes = link_->received_from;
  bytes.resize(static_cast<std::size_t>(link_->size), 0);
  return bytes;
}

void World::fall_silent() { link_->fall_silent(); }
void World::expect_end(std::chrono::seconds limit, std::function<int()> otherwise) {
  link_->expect_end(limit, std::move(otherwise));
}
bool World::give_up() { return link_->give_up(); }

void World::abort_all(int exit_code) {
  link_->abort_all(exit_code);
  std::abort();
}

World::Access::Access(Access&& other) noexcept : link_(std::exchange(other.link_, nullptr)) {}

World::Access::~Access() {
  if (link_ != nullptr) link_->mutex.unlock();
}

void World::Access::isend(int rank, int tag, const ConstBox& box, StatementId statement, std::uint64_t cookie) {
  link_->isend(rank, tag, box, statement, cookie);
}

void World::Access::isend(int rank, int tag, std::span<const std::byte> bytes, StatementId statement,
                          std::uint64_t cookie) {
  const auto extent = static_cast<std::int64_t>(bytes.size());
  const std::int64_t stride = 1;
  link_->isend(rank, tag, ConstBox{bytes.data(), 1, {&extent, 1}, {&stride, 1}}, statement, cookie);
}

void World::Access::irecv(int rank, int tag, const MutableBox& box, StatementId statement, std::uint64_t cookie) {
  link_->irecv(rank, tag, box, statement, cookie);
}

void World::Access::irecv(int rank, int tag, std::span<std::byte> bytes, StatementId statement, std::uint64_t cookie) {
  const auto extent = static_cast<std::int64_t>(bytes.size());
  const std::int64_t stride = 1;
  link_->irecv(rank, tag, MutableBox{bytes.data(), 1, {&extent, 1}, {&stride, 1}}, statement, cookie);
}

std::size_t World::Access::test_some(std::vector<Completion>& done) { return link_->test_some(done); }
std::size_t World::Access::pending() const { return link_->pending(); }

void World::Access::send_control(int rank, int tag, std::span<const std::byte> bytes, StatementId statement,
                                 std::int64_t payload) {
  link_->send_control(rank, tag, bytes, statement, payload);
}

std::optional<ControlMessage> World::Access::receive_control() { return link_->receive_control(); }
std::size_t World::Access::pending_control() const { return link_->pending_control(); }
void World::Access::ibarrier(std::uint64_t cookie) { link_->ibarrier(cookie); }
void World::Access::barrier() { link_->barrier(); }
void World::Access::broadcast(std::vector<std::byte>& bytes, int root) { link_->broadcast(bytes, root); }

void World::Access::broadcast(std::string& text, int root) {
  const auto view = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(view.begin(), view.end());
  link_->broadcast(bytes, root);
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::vector<std::byte>> World::Access::all_gather(std::span<const std::byte> bytes) {
  return link_->all_gather(bytes);
}

}  // namespace tdsl::rt
