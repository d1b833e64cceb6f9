#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/store/block.h"
#include "runtime/engine/store/row_list.h"

/// Encoding of the engine's control messages. All ranks of a run execute the same binary on machines of the same
/// architecture: numbers are sent in memory order, eight bytes each.
namespace tdsl::rt::wire {

/// Control tags.
enum Tag : int {
  kRequests = 1,
  kFailure = 2,
  kAbort = 3,
  kShare = 4,
  kPack = 5,
  kSizes = 6,
  kGo = 7,
  kExchange = 8,
  kBoundary = 9,
  kList = 10,
  kNotice = 11,
  kNoted = 12,
  kLeave = 13,
  kLeases = 14,
  kReturns = 15,
  kPulse = 20,
  kAsk = 21,
  kStatus = 22
};

/// Requests of one step to one owner. `rank` is not encoded: it is the message's source.
[[nodiscard]] std::vector<std::byte> encode_requests(std::span<const Request> requests);
[[nodiscard]] std::vector<Request> decode_requests(std::span<const std::byte> bytes, int source);

/// A pack's entry for a slot. The requester knows the size of a box; the pack gives that of a sized block.
struct PackEntry {
  plan::Index slot = 0;
  plan::Index bytes = -1;  ///< of a sized block, 0 if it is absent; -1: of a box
};
/// The head of a pack; its boxes (in C order) and blocks follow.
[[nodiscard]] std::vector<std::byte> encode_pack_head(std::span<const PackEntry> entries);
/// Decodes and removes the head of `bytes`.
[[nodiscard]] std::vector<PackEntry> decode_pack_head(std::span<const std::byte>& bytes);

/// Announces a requested sized block that is ready.
struct Size {
  plan::Index slot = 0;  ///< of the request
  plan::Index bytes = 0;
  plan::Index offer = 0;  ///< the sender's identifier of the transfer, returned in Go
};
[[nodiscard]] std::vector<std::byte> encode_sizes(std::span<const Size> sizes);
[[nodiscard]] std::vector<Size> decode_sizes(std::span<const std::byte> bytes);

/// A list that later requests of the sender refer to (Note [Requests by lists]).
struct List {
  plan::Index name = 0;
  std::vector<plan::Index> dropped;  ///< names of lists that no request will refer to any more
  RowList rows;
};
/// `corner`: a row at or before the first one. Gaps and lengths of runs take a byte per seven bits.
[[nodiscard]] std::vector<std::byte> encode_list(const List& list, plan::Index corner);
[[nodiscard]] List decode_list(std::span<const std::byte> bytes);

/// The receive of an offered block is posted.
struct Go {
  plan::Index offer = 0;
  plan::Index tag = 0;
};
[[nodiscard]] std::vector<std::byte> encode_goes(std::span<const Go> goes);
[[nodiscard]] std::vector<Go> decode_goes(std::span<const std::byte> bytes);

/// Answers a request for a box that the requester reads in place.
struct Lease {
  plan::Index slot = 0;    ///< of the request
  plan::Index offset = 0;  ///< of the box's first element in the sender's window
  plan::Index number = 0;  ///< the sender's identifier of the lease, returned when the requester has read the box
};
[[nodiscard]] std::vector<std::byte> encode_leases(std::span<const Lease> leases);
[[nodiscard]] std::vector<Lease> decode_leases(std::span<const std::byte> bytes);
/// Numbers of leases that have ended.
[[nodiscard]] std::vector<std::byte> encode_returns(std::span<const plan::Index> numbers);
[[nodiscard]] std::vector<plan::Index> decode_returns(std::span<const std::byte> bytes);

/// A number and a text: exit code and message, or sequence number and value.
struct Note {
  plan::Index number = 0;
  std::string text;
};
[[nodiscard]] std::vector<std::byte> encode_note(const Note& note);
[[nodiscard]] Note decode_note(std::span<const std::byte> bytes);

/// A message of an exchange: sequence number, end marker, and bytes.
struct Part {
  plan::Index number = 0;
  bool last = false;
  std::vector<std::byte> bytes;
};
[[nodiscard]] std::vector<std::byte> encode_part(plan::Index number, bool last, std::span<const std::byte> bytes);
[[nodiscard]] Part decode_part(std::span<const std::byte> bytes);

}  // namespace tdsl::rt::wire
