#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// A rank that gives no sign of life is not the program's mistake: a script may start the run again.
inline constexpr ExitCode kLostRank{69};

/// What ranks tell each other once a second.
struct Pulse {
  plan::Index progress = 0;  ///< grows whenever anything happens, on the rank or below it
  bool idle = false;         ///< nothing that could move is under way, on the rank and below it
  std::string where;         ///< host and least unfinished step of the rank itself

  friend bool operator==(const Pulse&, const Pulse&) = default;
};
[[nodiscard]] std::string encode(const Pulse& pulse);
[[nodiscard]] Pulse decode_pulse(const std::string& text);

/// Signs of life up and down a tree of ranks, and what follows from their absence. Knows no clock: `now` is in seconds.
class Heartbeat {
 public:
  static constexpr int kArity = 16;
  /// A rank that was itself stopped for so long forgives the others, which it could not hear.
  static constexpr double kOwnSleep = 3;
  /// The parent of silent children speaks at once, the children of a silent parent one after the other.
  static constexpr double kTurn = 2;

  /// `patience`: seconds of silence after which a neighbour is lost; 0: never.
  Heartbeat(int rank, int size, double patience, double now);

  /// The parent, if there is one, and the children.
  [[nodiscard]] const std::vector<int>& neighbours() const { return neighbours_; }
  void hear(int rank, Pulse pulse, double now);
  /// Once a second. Returns a neighbour that is lost.
  [[nodiscard]] std::optional<int> tick(double now);
  /// What this rank tells: of itself and of all below it.
  /// A neighbour that has been silent for a while proves nothing.
  [[nodiscard]] Pulse sum(Pulse own, double now) const;
  /// What a neighbour said last of where it was.
  [[nodiscard]] std::string where(int rank) const;
  /// Seconds without a sign of it.
  [[nodiscard]] double silence(int rank, double now) const;

 private:
  struct Neighbour {
    double heard = 0;
    Pulse pulse;
    bool known = false;  ///< it has said something
  };
  int rank_;
  double patience_;
  double ticked_;
  std::vector<int> neighbours_;
  std::map<int, Neighbour> state_;
};

/// Tells when something has not moved for long.
class Standstill {
 public:
  /// Whether `progress` has been the same for `seconds`; true once per standstill.
  [[nodiscard]] bool lasts(plan::Index progress, double now, double seconds) {
    if (progress != progress_ || since_ < 0) {
      progress_ = progress;
      since_ = now;
      said_ = false;
    }
    if (said_ || now - since_ < seconds) return false;
    said_ = true;
    return true;
  }

 private:
  plan::Index progress_ = 0;
  double since_ = -1;
  bool said_ = false;
};

}  // namespace tdsl::rt
