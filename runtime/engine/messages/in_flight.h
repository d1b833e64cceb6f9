#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/engine/context.h"
#include "runtime/engine/tasks/operation.h"

namespace tdsl::rt {

/// Receive slots: free tags by source.
class Slots {
 public:
  Slots(int sources, int max_tag)
      : limit_(Index{max_tag} + 1),
        next_(static_cast<std::size_t>(sources), 0),
        free_(static_cast<std::size_t>(sources)) {}
  [[nodiscard]] Index available(int source) const {
    const auto s = static_cast<std::size_t>(source);
    return limit_ - next_[s] + static_cast<Index>(free_[s].size());
  }
  /// True if `count` more receives can get tags, whatever their sources.
  [[nodiscard]] bool certainly_available(Index count) const { return taken_ + count <= limit_; }
  [[nodiscard]] int take(int source) {
    TDSL_CHECK(available(source) > 0, "a step has at most as many pieces of one rank as there are message tags");
    const auto s = static_cast<std::size_t>(source);
    ++taken_;
    if (free_[s].empty()) return static_cast<int>(next_[s]++);
    const int slot = free_[s].back();
    free_[s].pop_back();
    return slot;
  }
  void give_back(int source, int slot) {
    free_[static_cast<std::size_t>(source)].push_back(slot);
    --taken_;
  }

 private:
  Index limit_;
  Index taken_ = 0;
  std::vector<Index> next_;
  std::vector<std::vector<int>> free_;
};

/// Messages and disk transfers in flight, by cookie.
template <class T>
class CookieTable {
 public:
  [[nodiscard]] std::uint64_t enter(T entry) {
    entries_.emplace(next_, std::move(entry));
    return next_++;
  }
  [[nodiscard]] T* find(std::uint64_t cookie) {
    const auto found = entries_.find(cookie);
    return found == entries_.end() ? nullptr : &found->second;
  }
  /// Removes and returns the entry, which must exist.
  [[nodiscard]] T take(std::uint64_t cookie) {
    const auto found = entries_.find(cookie);
    TDSL_CHECK(found != entries_.end(), "an operation that completes was started");
    T entry = std::move(found->second);
    entries_.erase(found);
    return entry;
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// The first entry that satisfies the predicate; null: none.
  template <class Predicate>
  [[nodiscard]] const T* find_if(Predicate predicate) const {
    const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return predicate(entry.second); });
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::uint64_t, T> entries_;
  std::uint64_t next_ = 1;
};

/// Messages between their decision and their completion: receives and answers, by the cookie passed to MPI.
class InFlight {
 public:
  static constexpr std::uint64_t kBarrierCookie = 0;

  /// An answer, for the trace.
  struct Sent {
    double when = 0;  ///< of the decision
    int peer = 0;
    int site = 0;
    std::uint32_t request = 0;
    Index bytes = 0;
  };
  struct Message {
    std::shared_ptr<RemotePiece> piece{};  ///< of a receive
    int source = 0;
    int slot = -1;                     ///< tag of a receive; -1: the piece arrives in a pack
    TensorInstance* tensor = nullptr;  ///< of a send
    Index block = 0;
    BufferRef buffer{};
    Relay* relay = nullptr;      ///< of a send to a child
    std::optional<Sent> sent{};  ///< of an answer, if the run is traced
    bool served = false;         ///< an answer read from disk
    bool lent = false;           ///< an answer that its requester reads in place, until it has done so
  };

  explicit InFlight(const Context& context) : slots(context.world.size(), context.world.max_tag()), context_(context) {}

  [[nodiscard]] std::uint64_t enter(Message message) { return messages_.enter(std::move(message)); }
  /// An answer of `bytes`.
  [[nodiscard]] std::uint64_t enter_answer(Message message, const Request& request, Index bytes) {
    if (context_.options.trace != nullptr)
      message.sent = Sent{context_.now(), request.rank, request.site, request.number, bytes};
    return enter(std::move(message));
  }
  /// The receive identified by the slot in a peer's message.
  [[nodiscard]] Message& receive(Index name) {
    Message* const message = messages_.find(static_cast<std::uint64_t>(name));
    TDSL_CHECK(message != nullptr && message->piece != nullptr, "a piece that arrives was requested");
    return *message;
  }
  [[nodiscard]] Message take(std::uint64_t cookie) { return messages_.take(cookie); }
  /// Ends the receive of a piece that arrives in a pack.
  [[nodiscard]] std::shared_ptr<RemotePiece> take_piece(Index slot) {
    Message message = take(static_cast<std::uint64_t>(slot));
    TDSL_CHECK(message.piece != nullptr, "a box that arrives in a pack was requested");
    return std::move(message.piece);
  }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] bool any_send() const {
    return messages_.find_if([](const Message& message) { return message.piece == nullptr && !message.lent; }) !=
           nullptr;
  }
  /// The rank that sends the piece; none if no message is expected.
  [[nodiscard]] std::optional<int> source_of(const std::shared_ptr<RemotePiece>& piece) const {
    const Message* const message = messages_.find_if([&](const Message& m) { return m.piece == piece; });
    return message == nullptr ? std::nullopt : std::optional(message->source);
  }

  Slots slots;
  bool barrier_over = false;

 private:
  const Context& context_;
  CookieTable<Message> messages_;
};

}  // namespace tdsl::rt
