#include "runtime/engine/messages/wire.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/check.h"

namespace tdsl::rt::wire {

namespace {

using plan::Index;

/// The list 0 in the place of an operation; later ones below it.
constexpr Index kFirstList = -2;
/// Added to the number of dimensions of a box that is read in place.
constexpr Index kInPlace = 1 << 8;

void put(std::vector<std::byte>& bytes, Index value) {
  for (const std::byte byte : std::bit_cast<std::array<std::byte, sizeof value>>(value)) bytes.push_back(byte);
}

Index take(std::span<const std::byte>& bytes) {
  Index value = 0;
  TDSL_CHECK(bytes.size() >= sizeof value, "a control message is complete");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

/// A nonnegative number in as many bytes as it needs.
void put_short(std::vector<std::byte>& bytes, Index value) {
  auto rest = static_cast<std::uint64_t>(value);
  for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<std::byte>(rest | 0x80));
  bytes.push_back(static_cast<std::byte>(rest));
}

Index take_short(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    TDSL_CHECK(!bytes.empty() && shift < 64, "a control message is complete");
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return static_cast<Index>(value);
  }
}

}  // namespace

std::vector<std::byte> encode_list(const List& list, Index corner) {
  std::vector<std::byte> bytes;
  put(bytes, list.name);
  put(bytes, corner);
  put_short(bytes, static_cast<Index>(list.dropped.size()));
  for (const Index name : list.dropped) put_short(bytes, name);
  for (const plan::Interval& run : list.rows.runs) {
    put_short(bytes, run.lo - corner);
    put_short(bytes, run.size());
    corner = run.hi;
  }
  return bytes;
}

List decode_list(std::span<const std::byte> bytes) {
  List list;
  list.name = take(bytes);
  Index corner = take(bytes);
  list.dropped.resize(static_cast<std::size_t>(take_short(bytes)));
  for (Index& name : list.dropped) name = take_short(bytes);
  while (!bytes.empty()) {
    const Index first = corner + take_short(bytes);
    corner = first + take_short(bytes);
    list.rows.add({first, corner});
  }
  return list;
}

// A request by a list asks the owner itself, so that its number takes the place of an operation's.
std::vector<std::byte> encode_requests(std::span<const Request> requests) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<Index>(requests.size()));
  for (const Request& request : requests) {
    put(bytes, request.tensor);
    put(bytes, request.block);
    put(bytes, request.slot);
    put(bytes, request.site | static_cast<Index>(request.number) << 32);
    put(bytes, request.list >= 0 ? kFirstList - request.list : request.operation);
    if (request.operation >= 0) put(bytes, request.super_block);
    put(bytes, request.box.rank + (request.in_place ? kInPlace : 0));
    for (int d = 0; d < request.box.rank; ++d) {
      put(bytes, request.box[d].lo);
      put(bytes, request.box[d].hi);
    }
  }
  return bytes;
}

std::vector<Request> decode_requests(std::span<const std::byte> bytes, int source) {
  std::vector<Request> requests(static_cast<std::size_t>(take(bytes)));
  for (Request& request : requests) {
    request.rank = source;
    request.tensor = take(bytes);
    request.block = take(bytes);
    request.slot = take(bytes);
    const Index site_and_number = take(bytes);
    request.site = static_cast<int>(site_and_number & 0xffffffff);
    request.number = static_cast<std::uint32_t>(site_and_number >> 32);
    request.operation = take(bytes);
    if (request.operation <= kFirstList) request.list = kFirstList - std::exchange(request.operation, -1);
    if (request.operation >= 0) request.super_block = take(bytes);
    const Index rank = take(bytes);
    request.in_place = rank >= kInPlace;
    request.box.rank = static_cast<int>(rank % kInPlace);
    for (int d = 0; d < request.box.rank; ++d) {
      request.box[d].lo = take(bytes);
      request.box[d].hi = take(bytes);
    }
  }
  return requests;
}

// The slot of a sized block is encoded as a negative number, and its size follows.
std::vector<std::byte> encode_pack_head(std::span<const PackEntry> entries) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<Index>(entries.size()));
  for (const PackEntry& entry : entries) {
    put(bytes, entry.bytes < 0 ? entry.slot : ~entry.slot);
    if (entry.bytes >= 0) put(bytes, entry.bytes);
  }
  return bytes;
}

std::vector<PackEntry> decode_pack_head(std::span<const std::byte>& bytes) {
  std::vector<PackEntry> entries(static_cast<std::size_t>(take(bytes)));
  for (PackEntry& entry : entries) {
    entry.slot = take(bytes);
    if (entry.slot >= 0) continue;
    entry.slot = ~entry.slot;
    entry.bytes = take(bytes);
  }
  return entries;
}

std::vector<std::byte> encode_sizes(std::span<const Size> sizes) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<Index>(sizes.size()));
  for (const Size& size : sizes) {
    for (const Index x : {size.slot, size.bytes, size.offer}) put(bytes, x);
  }
  return bytes;
}

std::vector<Size> decode_sizes(std::span<const std::byte> bytes) {
  std::vector<Size> sizes(static_cast<std::size_t>(take(bytes)));
  for (Size& size : sizes) {
    for (Index* const x : {&size.slot, &size.bytes, &size.offer}) *x = take(bytes);
  }
  return sizes;
}

std::vector<std::byte> encode_goes(std::span<const Go> goes) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<Index>(goes.size()));
  for (const Go& go : goes) {
    for (const Index x : {go.offer, go.tag}) put(bytes, x);
  }
  return bytes;
}

std::vector<Go> decode_goes(std::span<const std::byte> bytes) {
  std::vector<Go> goes(static_cast<std::size_t>(take(bytes)));
  for (Go& go : goes) {
    for (Index* const x : {&go.offer, &go.tag}) *x = take(bytes);
  }
  return goes;
}

std::vector<std::byte> encode_leases(std::span<const Lease> leases) {
  std::vector<std::byte> bytes;
  put(bytes, static_cast<Index>(leases.size()));
  for (const Lease& lease : leases) {
    for (const Index x : {lease.slot, lease.offset, lease.number}) put(bytes, x);
  }
  return bytes;
}

std::vector<Lease> decode_leases(std::span<const std::byte> bytes) {
  std::vector<Lease> leases(static_cast<std::size_t>(take(bytes)));
  for (Lease& lease : leases) {
    for (Index* const x : {&lease.slot, &lease.offset, &lease.number}) *x = take(bytes);
  }
  return leases;
}

std::vector<std::byte> encode_returns(std::span<const Index> numbers) {
  std::vector<std::byte> bytes;
  for (const Index number : numbers) put(bytes, number);
  return bytes;
}

std::vector<Index> decode_returns(std::span<const std::byte> bytes) {
  std::vector<Index> numbers;
  while (!bytes.empty()) numbers.push_back(take(bytes));
  return numbers;
}

std::vector<std::byte> encode_note(const Note& note) {
  std::vector<std::byte> bytes;
  put(bytes, note.number);
  const auto text = std::as_bytes(std::span(note.text));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

Note decode_note(std::span<const std::byte> bytes) {
  Note note;
  note.number = take(bytes);
  note.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return note;
}

std::vector<std::byte> encode_part(Index number, bool last, std::span<const std::byte> bytes) {
  std::vector<std::byte> message;
  message.reserve(2 * sizeof(Index) + bytes.size());
  put(message, number);
  put(message, last ? 1 : 0);
  message.insert(message.end(), bytes.begin(), bytes.end());
  return message;
}

Part decode_part(std::span<const std::byte> bytes) {
  Part part;
  part.number = take(bytes);
  part.last = take(bytes) != 0;
  part.bytes.assign(bytes.begin(), bytes.end());
  return part;
}

}  // namespace tdsl::rt::wire
