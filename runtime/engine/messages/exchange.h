#pragma once

#include <map>
#include <span>
#include <string>

#include "runtime/engine/context.h"
#include "runtime/engine/messages/outbox.h"

namespace tdsl::rt {

/// Data exchanged between ranks outside of operations, numbered in program order. It travels in control messages, so
/// that a rank can receive it at any point of its program.
class Exchanges {
 public:
  Exchanges(const Context& context, Outbox& outbox) : context_(context), outbox_(outbox) {}

  /// The number of this rank's next exchange or text.
  [[nodiscard]] Index begin() { return begun_++; }
  /// Sends one message of an exchange.
  void send(Index number, int target, std::span<const std::byte> bytes);
  /// Notifies the other ranks that this rank has sent all messages of the exchange.
  void end(Index number);
  /// True if all messages for this rank have arrived.
  [[nodiscard]] bool complete(Index number) { return exchanges_[number].ended + 1 == context_.world.size(); }
  /// The messages of a complete exchange, by source.
  [[nodiscard]] Engine::Received take(Index number);
  void take_message(const ControlMessage& message);

  /// Rank 0's text for all other ranks.
  void share(Index number, const std::string& text);
  [[nodiscard]] bool has_text(Index number) const { return texts_.contains(number); }
  [[nodiscard]] std::string take_text(Index number) { return std::move(texts_.extract(number).mapped()); }
  void take_shared(const ControlMessage& message);

 private:
  struct Exchange {
    Engine::Received from;
    int ended = 0;  ///< ranks that have sent all their messages
  };
  const Context& context_;
  Outbox& outbox_;
  std::map<Index, Exchange> exchanges_;
  std::map<Index, std::string> texts_;
  Index begun_ = 0;
};

}  // namespace tdsl::rt
