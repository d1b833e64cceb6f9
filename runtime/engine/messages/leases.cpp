#include "runtime/engine/messages/leases.h"

#include "runtime/engine/store/shared_windows.h"

namespace tdsl::rt {

bool Leases::apply(const TensorInstance& tensor, const plan::Fetch& fetch, const plan::TreePlace& place) const {
  const SharedWindows* const windows = context_.store.windows();
  return windows != nullptr && plan::is_read_in_place(windows->rule(), tensor.placed, fetch, place, context_.me);
}

Index Leases::expect(const std::shared_ptr<RemotePiece>& piece) {
  return static_cast<Index>(in_flight_.enter({.piece = piece, .source = piece->source}));
}

std::shared_ptr<RemotePiece> Leases::take(int owner, const wire::Lease& lease) {
  std::shared_ptr<RemotePiece> piece = in_flight_.take_piece(lease.slot);
  const std::byte* const data = context_.store.windows()->address(owner, lease.offset);
  // Operands are not written: the pages are mapped read-only.
  piece->buffer = std::make_shared<Buffer>(context_.store, const_cast<std::byte*>(data), piece->counted);
  piece->lender = &outbox_;
  piece->lease = lease.number;
  SiteStatistics& site = profile_.sites.at(piece->site);
  site.bytes_in_place += piece->counted;
  ++site.leases;
  return piece;
}

void Leases::lend(const Request& request, const std::byte* box, Index bytes, std::uint64_t number) {
  lent_[request.site] += bytes;
  outbox_.lend(request.rank,
               {request.slot, context_.store.windows()->own().offset_of(box), static_cast<Index>(number)});
}

Index Leases::lent(int site) const {
  const auto found = lent_.find(site);
  return found == lent_.end() ? 0 : found->second;
}

}  // namespace tdsl::rt
