#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/block.h"

/// The engine's control messages as bytes. All ranks of a run are the same executable on like machines: numbers travel
/// in memory order, eight bytes each.
namespace tdsl::rt::wire {

/// Control tags.
enum Tag : int { kRequests = 1, kFailure = 2, kAbort = 3, kShare = 4, kPack = 5, kExchange = 6 };

/// Requests of one step to one owner. `rank` is not sent: it is the message's source.
[[nodiscard]] std::vector<std::byte> encode_requests(std::span<const Request> requests);
[[nodiscard]] std::vector<Request> decode_requests(std::span<const std::byte> bytes, int source);

/// The head of a pack: the slots of its boxes, whose elements follow one after the other, each box in C order.
[[nodiscard]] std::vector<std::byte> encode_slots(std::span<const plan::Index> slots);
/// Takes the head off `bytes`.
[[nodiscard]] std::vector<plan::Index> decode_slots(std::span<const std::byte>& bytes);

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
