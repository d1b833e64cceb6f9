#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/plan/space/index.h"

namespace tdsl::rt {

/// Exit code after the loss of a rank, which is not an error of the program: a script may restart the run.
inline constexpr ExitCode kLostRank{69};

/// Status that neighbours exchange once a second.
struct Pulse {
  plan::Index progress = 0;  ///< grows with every event on the rank or below it
  bool idle = false;         ///< nothing in flight can cause progress, on the rank and below it
  std::string where;         ///< host and least unfinished step of the rank itself

  friend bool operator==(const Pulse&, const Pulse&) = default;
};
[[nodiscard]] std::string encode(const Pulse& pulse);
[[nodiscard]] Pulse decode_pulse(const std::string& text);

/// Signs of life along a tree of ranks, and detection of lost ranks. Has no clock: `now` is passed in seconds.
class Heartbeat {
 public:
  static constexpr int kArity = 16;
  /// After its own interruption of this length, a rank restarts the silence of its neighbours: it could not hear them.
  static constexpr double kOwnSleep = 3;
  /// The parent of silent children reports immediately, the children of a silent parent one after the other.
  static constexpr double kTurn = 2;

  /// `patience`: seconds of silence after which a neighbour is lost; 0: never.
  Heartbeat(int rank, int size, double patience, double now);

  /// The parent, if any, and the children.
  [[nodiscard]] const std::vector<int>& neighbours() const { return neighbours_; }
  void hear(int rank, Pulse pulse, double now);
  /// Called once a second. Returns a lost neighbour.
  [[nodiscard]] std::optional<int> tick(double now);
  /// The pulse that this rank sends: of itself and of all ranks below it. A neighbour silent for a while does not count
  /// as idle.
  [[nodiscard]] Pulse sum(Pulse own, double now) const;
  /// `where` of a neighbour's last pulse.
  [[nodiscard]] std::string where(int rank) const;
  /// Seconds since its last sign.
  [[nodiscard]] double silence(int rank, double now) const;

 private:
  struct Neighbour {
    double heard = 0;
    Pulse pulse;
    bool known = false;  ///< a pulse of it has arrived
  };
  int rank_;
  double patience_;
  double ticked_;
  std::vector<int> neighbours_;
  std::map<int, Neighbour> state_;
};

/// Detects long periods without progress.
class Standstill {
 public:
  /// True if `progress` has been unchanged for `seconds`; once per standstill.
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
