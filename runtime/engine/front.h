#pragma once

#include <unordered_map>

namespace tdsl::rt {

/// Attributes a rank's time to sites: every moment belongs to the front, the site of the least unfinished step.
class Front {
 public:
  static constexpr int kNowhere = -1;  ///< no step is open: the program records, plans, reads files or prints

  struct Seconds {
    double wall = 0;     ///< time at the front
    double waiting = 0;  ///< of threads without work during that time, summed
    double disk = 0;     ///< part of it during which this rank's disk was read or written
  };

  [[nodiscard]] int site() const { return site_; }
  void move(double now, int site) {
    settle(now);
    site_ = site;
  }
  /// Changes the number of idle threads.
  void idle(double now, int change) {
    settle(now);
    idle_ += change;
  }
  /// Marks the start or end of disk activity.
  void use_disk(double now, bool used) {
    settle(now);
    disk_used_ = used;
  }
  void settle(double now) {
    Seconds& here = seconds_[site_];
    here.wall += now - last_;
    here.waiting += idle_ * (now - last_);
    if (disk_used_) here.disk += idle_ * (now - last_);
    last_ = now;
  }
  [[nodiscard]] Seconds at(int site) const {
    const auto found = seconds_.find(site);
    return found == seconds_.end() ? Seconds{} : found->second;
  }

 private:
  int site_ = kNowhere;
  int idle_ = 0;
  bool disk_used_ = false;
  double last_ = 0;
  std::unordered_map<int, Seconds> seconds_;
};

}  // namespace tdsl::rt
