#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/engine/link.h"
#include "runtime/engine/mpi/mpi_world.h"

// World delegates to the link.

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

World::Access World::try_access() { return Access(link_->mutex.try_lock() ? link_.get() : nullptr); }

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

void World::Release::operator()(Transport* transport) const { static_cast<Link*>(transport)->mutex.unlock(); }

void Transport::broadcast(std::string& text, int root) {
  const auto view = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(view.begin(), view.end());
  broadcast(bytes, root);
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::string> Transport::all_gather(std::string_view text) {
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& bytes : all_gather(std::as_bytes(std::span(text))))
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return texts;
}

}  // namespace tdsl::rt
