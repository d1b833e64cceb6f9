#include "runtime/engine/messages/outbox.h"

#include <utility>

#include "runtime/kernels/copy.h"

namespace tdsl::rt {

Operand as_bytes(const BufferRef& buffer) {
  Box box;
  box.rank = 1;
  box[0] = {0, bytes_of(buffer)};
  return row_major(buffer != nullptr ? buffer->data() : nullptr, box);
}

void Outbox::enqueue(Posting posting) {
  postings_.push_back(std::move(posting));
  filled_ = true;
}

void Outbox::tell_others(int tag, const std::vector<std::byte>& bytes) {
  for (int rank = 0; rank < context_.world.size(); ++rank) {
    if (rank != context_.me) tell(rank, tag, bytes);
  }
}

void Outbox::send(const Request& request, const Operand& box, Index element_bytes, std::uint64_t cookie) {
  const Index bytes = request.box.volume() * element_bytes;
  if (bytes >= context_.options.small_box) {
    enqueue(PostSend{request, element_bytes, box, cookie});
    return;
  }
  join_pack(request, bytes, {request.slot, element_bytes, box, -1, cookie, {}});
}

void Outbox::send_packed(const Request& request, const BufferRef& packed, std::uint64_t cookie, Packing packing) {
  const Index bytes = bytes_of(packed);
  if (bytes > 0 && bytes >= context_.options.small_box) {
    enqueue(PostSend{request, 1, as_bytes(packed), cookie, std::move(packing)});
    return;
  }
  join_pack(request, bytes, {request.slot, 1, as_bytes(packed), -1, cookie, std::move(packing)});
}

void Outbox::join_pack(const Request& request, Index bytes, const PostPack::Entry& entry) {
  const auto [open, is_new] = open_packs_.try_emplace({request.rank, request.site}, postings_.size());
  if (is_new || std::get<PostPack>(postings_[open->second]).bytes + bytes > kPackBytes) {
    open->second = postings_.size();
    enqueue(PostPack{request.rank, request.site, 0, {}});
  }
  auto& pack = std::get<PostPack>(postings_[open->second]);
  pack.bytes += bytes;
  pack.entries.push_back(entry);
}

void Outbox::announce(int rank, const wire::Size& size) {
  sizes_[rank].push_back(size);
  filled_ = true;
}

void Outbox::grant(int rank, const wire::Go& go) {
  grants_[rank].push_back(go);
  filled_ = true;
}

void Outbox::lend(int rank, const wire::Lease& lease) {
  leases_[rank].push_back(lease);
  filled_ = true;
}

void Outbox::end_lease(int rank, Index number) {
  returns_[rank].push_back(number);
  filled_ = true;
}

RemotePiece::~RemotePiece() {
  used -= counted;
  if (lender != nullptr) lender->end_lease(source, lease);
}

std::vector<Posting> Outbox::take() {
  for (const auto& [rank, sizes] : std::exchange(sizes_, {})) tell(rank, wire::kSizes, wire::encode_sizes(sizes));
  for (const auto& [rank, grants] : std::exchange(grants_, {})) tell(rank, wire::kGo, wire::encode_goes(grants));
  for (const auto& [rank, leases] : std::exchange(leases_, {})) tell(rank, wire::kLeases, wire::encode_leases(leases));
  for (const auto& [rank, numbers] : std::exchange(returns_, {}))
    tell(rank, wire::kReturns, wire::encode_returns(numbers));
  open_packs_.clear();
  filled_ = false;
  return std::exchange(postings_, {});
}

}  // namespace tdsl::rt
