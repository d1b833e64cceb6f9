#pragma once

#include <cstdint>
#include <map>

namespace tdsl::rt {

/// Action at a boundary of the program (record/path.h).
enum class Wish : std::uint8_t {
  kNone,
  kSave,  ///< a checkpoint
  kStop,  ///< a checkpoint, and the run ends
};

// Note [Boundaries]
// Ranks pass the same boundaries in the same order, each at its own time, and any rank may request a checkpoint. It
// notifies rank 0, and rank 0 asks all ranks. Each answers from its poll with the number of boundaries it has passed
// and then waits at the next one. An answer requires no further progress, so all answers arrive. Rank 0 announces the
// largest of these numbers: no rank has passed that boundary, and all save a checkpoint there.
//
//     rank 0 (passed 3)                          rank 1 (passed 5)
//       | <-------------- kWant --------------- |  a signal came
//       | --------------- kAsk ---------------> |
//     waits at 3                                | goes on to 5, waits
//       | <----------- kPassed 5 -------------- |
//       | -------------- kSaveAt 5 -----------> |
//     goes on to 5, saves                       | saves
//
// A rank that has not reached a previously agreed boundary answers with the boundary after it. A program that ends
// before it reaches the boundary ends without a checkpoint, on every rank.

/// The protocol state of one rank. The caller sends the messages it returns.
class Boundaries {
 public:
  Boundaries(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  struct Message {
    enum class Kind : std::uint8_t { kNone, kWant, kAsk, kPassed, kSaveAt } kind = Kind::kNone;
    Wish wish = Wish::kNone;
    std::int64_t number = 0;
  };
  /// The program has reached its next boundary. Returns the message to send: kWant to rank 0, kAsk to all others.
  [[nodiscard]] Message arrive(Wish mine);
  /// True while the program must not pass the boundary.
  [[nodiscard]] bool waits() const { return asked_ && decided_.empty(); }
  /// The program passes the boundary (waits() is false). Returns the action to perform first.
  [[nodiscard]] Wish leave();
  /// Handles a message of another rank. Returns the message to send: kPassed to rank 0, kSaveAt to all others.
  [[nodiscard]] Message take(const Message& message);

 private:
  [[nodiscard]] std::int64_t earliest() const { return decided_.empty() ? passed_ : decided_.rbegin()->first + 1; }
  void note(std::int64_t earliest);
  [[nodiscard]] Message decide();

  int rank_;
  int ranks_;
  std::int64_t passed_ = 0;
  bool asked_ = false;
  std::map<std::int64_t, Wish> decided_;  ///< boundaries not passed yet
  Wish told_ = Wish::kNone;               ///< this rank's wish, as sent to rank 0
  // Rank 0 only:
  Wish wanted_ = Wish::kNone;  ///< by any rank
  int answers_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace tdsl::rt
