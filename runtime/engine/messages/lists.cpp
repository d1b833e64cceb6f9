#include "runtime/engine/messages/lists.h"

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/sparse/coordinates.h"

namespace tdsl::rt {

namespace {

/// The blocks of the compressed operand that the operation's tasks on this rank read; nothing if any of them is not in
/// the rank's memory.
std::optional<std::vector<Index>> blocks_read(const OperationRun& operation, const TensorInstance& tensor,
                                              const plan::Access& access, Index me) {
  const plan::TaskSpace& space = operation.space;
  const plan::Distribution& where = tensor.placed.distribution;
  std::set<Index> blocks;
  bool own = true;
  for (Index s = 0; s < space.super_blocks(me); ++s) {
    for (const Index number : space.super_block(me, s)) {
      const plan::Coord tile = space.plan().space.coord(number);
      for (Index panel = 0; space.hit(tile) && panel < space.panels(); ++panel) {
        const std::vector<Interval> labels = space.label_intervals(tile, space.panel(tile, panel));
        if (space.points(labels) == 0) continue;
        space.for_each_piece(tensor.id(), space.access_box(access, labels),
                             [&](const plan::Coord& block, const plan::Piece& piece) {
                               own = own && where.owns(me, block) && !tensor.away(block);
                               blocks.insert(piece.block);
                             });
      }
    }
  }
  if (!own) return std::nullopt;
  return std::vector<Index>(blocks.begin(), blocks.end());
}

}  // namespace

std::shared_ptr<Meetings> Lists::meetings_of(OperationRun& operation, std::size_t read) {
  if (operation.meetings.empty()) operation.meetings.resize(operation.op().reads.size());
  std::optional<OperationRun::Met>& met = operation.meetings[read];
  if (!met) {
    const std::optional<plan::Walk> walk = operation.space.walk_of(operation.op().reads[read]);
    met = OperationRun::Met{find(operation, read), walk->read};
  }
  return met->meetings;
}

std::shared_ptr<Meetings> Lists::find(const OperationRun& operation, std::size_t read) {
  const EngineOptions& options = context_.options;
  if (options.memory_bytes > 0 && options.most_bytes == 0) return nullptr;
  drop_dead();
  const plan::Op& op = operation.op();
  const plan::Walk walk = *operation.space.walk_of(op.reads[read]);
  const TensorInstance& walked = context_.tensors.at(op.reads[walk.read].tensor);
  std::optional<std::vector<Index>> blocks = blocks_read(operation, walked, op.reads[walk.read], context_.me);
  if (!blocks) return nullptr;
  Meetings::Key key{walked.id(), walk.dim, walk.offset, std::move(*blocks)};
  std::shared_ptr<Meetings>& known = meetings_[key];
  if (known == nullptr) {
    known = std::make_shared<Meetings>();
    known->key = std::move(key);
    new_.emplace_back(known, walk.read);
  }
  return known;
}

/// Tensor numbers are not reused: lists of a tensor that is gone are never needed again.
void Lists::drop_dead() {
  std::erase_if(meetings_, [&](const auto& entry) {
    if (context_.tensors.find(entry.first.tensor) != nullptr || !entry.second->waiting.empty()) return false;
    for (const auto& [where, list] : entry.second->lists) {
      if (list.name >= 0) dropped_[std::get<2>(where)].push_back(list.name);
    }
    return true;
  });
}

void Lists::inspect(Meetings& meetings, const std::vector<BlockPart>& blocks) {
  std::vector<RowListRef> all;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    auto rows = std::make_shared<RowList>();
    if (blocks[k].data != nullptr) {
      const auto& head = *reinterpret_cast<const sparse::BlockHead*>(blocks[k].data);
      for (const Interval& run : sparse::coordinates_of(head, blocks[k].box, meetings.key.dimension))
        rows->add({run.lo + meetings.key.offset, run.hi + meetings.key.offset});
    }
    meetings.of_block.emplace(meetings.key.blocks[k], rows);
    all.push_back(std::move(rows));
  }
  meetings.all = all.size() == 1 ? all.front() : std::make_shared<const RowList>(united(all));
}

std::optional<Request> Lists::ask(Meetings& meetings, Meetings::Waiting waiting, const plan::Estimate& bytes) {
  if (meetings.found) {
    prepare(meetings, waiting);
    return waiting.request;
  }
  waiting.piece->reserved = context_.options.memory_bytes > 0 ? footprint_.counted(bytes) : 0;
  footprint_.reserved += waiting.piece->reserved;
  meetings.waiting.push_back(std::move(waiting));
  ++waiting_;
  return std::nullopt;
}

void Lists::end_inspection(Meetings& meetings) {
  meetings.found = true;
  std::map<int, std::vector<Request>> batches;
  for (Meetings::Waiting& waiting : meetings.waiting) {
    prepare(meetings, waiting);
    batches[waiting.piece->source].push_back(waiting.request);
    --waiting_;
  }
  meetings.waiting.clear();
  for (const auto& [source, requests] : batches) outbox_.tell(source, wire::kRequests, wire::encode_requests(requests));
  // A graph without locality: its lists would take memory for nothing.
  if (std::ranges::any_of(meetings.lists, [](const auto& entry) { return entry.second.rows != nullptr; })) return;
  meetings.of_block.clear();
  meetings.all = nullptr;
}

/// Completes a request, by a list or not, and prepares for its answer.
void Lists::prepare(Meetings& meetings, Meetings::Waiting& waiting) {
  RemotePiece& piece = *waiting.piece;
  const Interval range = piece.box[0];
  const auto [entry, is_new] = meetings.lists.try_emplace({range.lo, range.hi, piece.source});
  Meetings::List& list = entry->second;
  if (is_new && meetings.all != nullptr) find_list(meetings, list, piece);
  const Index rows = list.rows != nullptr ? list.rows->rows : range.size();
  const Index bytes = rows * row_bytes(piece.box, waiting.element_bytes);
  piece.rows = list.rows;
  waiting.request.list = list.name;
  footprint_.reserved -= std::exchange(piece.reserved, 0);
  if (bytes > 0) piece.buffer = context_.store.allocate(bytes);
  piece.count(bytes);
  waiting.request.slot = expect(waiting.piece, waiting.element_bytes);
}

/// Sends the list of the piece's rows to its owner if they are under half of it.
void Lists::find_list(const Meetings& meetings, Meetings::List& list, const RemotePiece& piece) {
  const Interval range = piece.box[0];
  RowList rows = rows_inside(*meetings.all, range);
  if (2 * rows.rows >= range.size()) return;
  const wire::List sent{next_name_++, std::exchange(dropped_[piece.source], {}), std::move(rows)};
  list = {sent.name, std::make_shared<const RowList>(sent.rows)};
  const std::vector<std::byte> message = wire::encode_list(sent, range.lo);
  profile_.sites.at(piece.site).list_bytes += static_cast<Index>(message.size());
  outbox_.tell(piece.source, wire::kList, message);
}

Index Lists::expect(const std::shared_ptr<RemotePiece>& piece, Index element_bytes) {
  const Index bytes = bytes_of(piece->buffer);
  if (bytes == 0 || bytes < context_.options.small_box)
    return static_cast<Index>(in_flight_.enter({.piece = piece, .source = piece->source}));
  const int tag = in_flight_.slots.take(piece->source);
  const std::uint64_t cookie = in_flight_.enter({.piece = piece, .source = piece->source, .slot = tag});
  outbox_.enqueue(PostReceive{piece->source, tag, piece->site, element_bytes, piece, cookie});
  return tag;
}

void Lists::take(const ControlMessage& message) {
  wire::List list = wire::decode_list(message.bytes);
  for (const Index name : list.dropped) of_peers_.erase({message.source, name});
  of_peers_[{message.source, list.name}] = std::make_shared<const RowList>(std::move(list.rows));
}

RowListRef Lists::rows_of(const Request& request) const {
  const auto found = of_peers_.find({request.rank, request.list});
  TDSL_CHECK(found != of_peers_.end(), "a list is sent before a request that refers to it");
  return found->second;
}

void Lists::clear() {
  TDSL_CHECK(waiting_ == 0, "every request by a list has been sent");
  meetings_.clear();
  of_peers_.clear();
}

}  // namespace tdsl::rt
