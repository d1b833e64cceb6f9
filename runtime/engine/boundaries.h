#pragma once

#include <cstdint>
#include <map>

namespace tdsl::rt {

/// What is to be done at a boundary of the program (record/path.h).
enum class Wish : std::uint8_t {
  kNone,
  kSave,  ///< a checkpoint
  kStop,  ///< a checkpoint, and the run ends
};

// Note [Boundaries]
// Ranks pass the same boundaries in the same order, each when it comes there, and any of them may wish for a
// checkpoint. It tells rank 0. Rank 0 asks all; each answers from its poll how many boundaries it has passed, and from
// then on waits at the next one. Nobody has to come anywhere before it answers, so all answers arrive; the checkpoint
// is at the largest of these numbers, which nobody has passed, and rank 0 says so.
//
//     rank 0 (passed 3)                          rank 1 (passed 5)
//       | <-------------- kWant --------------- |  a signal came
//       | --------------- kAsk ---------------> |
//     waits at 3                                | goes on to 5, waits
//       | <----------- kPassed 5 -------------- |
//       | -------------- kSaveAt 5 -----------> |
//     goes on to 5, saves                       | saves
//
// A rank that has yet to come to a boundary agreed upon before answers with the one after it. A program that ends
// before it comes to that boundary ends without a checkpoint, on every rank.

/// One rank's part in it. What it says is sent by whoever owns it.
class Boundaries {
 public:
  Boundaries(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  struct Message {
    enum class Kind : std::uint8_t { kNone, kWant, kAsk, kPassed, kSaveAt } kind = Kind::kNone;
    Wish wish = Wish::kNone;
    std::int64_t number = 0;
  };
  /// The program has come to its next boundary. Returns what is to be sent: kWant to rank 0, kAsk to all others.
  [[nodiscard]] Message arrive(Wish mine);
  /// Whether it may not go past it yet.
  [[nodiscard]] bool waits() const { return asked_ && decided_.empty(); }
  /// It goes on, once it need not wait. Returns what is to be done first.
  [[nodiscard]] Wish leave();
  /// Of another rank. Returns what is to be sent: kPassed to rank 0, kSaveAt to all others.
  [[nodiscard]] Message take(const Message& message);

 private:
  [[nodiscard]] std::int64_t earliest() const { return decided_.empty() ? passed_ : decided_.rbegin()->first + 1; }
  void note(std::int64_t earliest);
  [[nodiscard]] Message decide();

  int rank_;
  int ranks_;
  std::int64_t passed_ = 0;
  bool asked_ = false;
  std::map<std::int64_t, Wish> decided_;  ///< boundaries that are not passed yet
  Wish told_ = Wish::kNone;               ///< to rank 0, of this rank's
  // Of rank 0:
  Wish wanted_ = Wish::kNone;  ///< by any
  int answers_ = 0;
  std::int64_t most_ = 0;
};

}  // namespace tdsl::rt
