#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/store/block.h"

/// The engine's control messages as bytes. All ranks of a run are the same executable on like machines: numbers travel
/// in memory order, eight bytes each.
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
  kPulse = 20,
  kAsk = 21,
  kStatus = 22
};

/// Requests of one step to one owner. `rank` is not sent: it is the message's source.
[[nodiscard]] std::vector<std::byte> encode_requests(std::span<const Request> requests);
[[nodiscard]] std::vector<Request> decode_requests(std::span<const std::byte> bytes, int source);

/// What a pack has for a slot. Who asked for a box knows its size; of a sized block the pack says it.
struct PackEntry {
  plan::Index slot = 0;
  plan::Index bytes = -1;  ///< of a sized block, 0 if it is absent; -1: of a box
};
/// The head of a pack, whose boxes (in C order) and blocks follow one after the other.
[[nodiscard]] std::vector<std::byte> encode_pack_head(std::span<const PackEntry> entries);
/// Takes the head off `bytes`.
[[nodiscard]] std::vector<PackEntry> decode_pack_head(std::span<const std::byte>& bytes);

/// A sized block is ready for whoever asked for it.
struct Size {
  plan::Index slot = 0;  ///< of the request
  plan::Index bytes = 0;
  plan::Index offer = 0;  ///< by which the sender will know the answer
};
[[nodiscard]] std::vector<std::byte> encode_sizes(std::span<const Size> sizes);
[[nodiscard]] std::vector<Size> decode_sizes(std::span<const std::byte> bytes);

/// A receive waits for what was offered.
struct Go {
  plan::Index offer = 0;
  plan::Index tag = 0;
};
[[nodiscard]] std::vector<std::byte> encode_goes(std::span<const Go> goes);
[[nodiscard]] std::vector<Go> decode_goes(std::span<const std::byte> bytes);

/// A number and a text: exit code and message, or a sequence number and its value.
struct Note {
  plan::Index number = 0;
  std::string text;
};
[[nodiscard]] std::vector<std::byte> encode_note(const Note& note);
[[nodiscard]] Note decode_note(std::span<const std::byte> bytes);

/// A message of an exchange: its sequence number, whether it only says that there are no more, and its bytes.
struct Part {
  plan::Index number = 0;
  bool last = false;
  std::vector<std::byte> bytes;
};
[[nodiscard]] std::vector<std::byte> encode_part(plan::Index number, bool last, std::span<const std::byte> bytes);
[[nodiscard]] Part decode_part(std::span<const std::byte> bytes);

}  // namespace tdsl::rt::wire
