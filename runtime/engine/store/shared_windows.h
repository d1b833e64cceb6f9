#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/plan/steps/in_place.h"

namespace tdsl::rt {

class World;

// Note [Shared windows]
// With --shared-windows a rank allocates its large blocks in a window: an unnamed file of memory that the other ranks
// of its node map read-only. They read its blocks in place instead of receiving them (README.md, "Blocks of
// neighbours"). A rank opens a neighbour's file through /proc, so the file never has a name and its pages return to the
// system with the last process that maps it, whichever way the processes end.

/// This rank's window. Not thread-safe.
class SharedWindow {
 public:
  /// `bytes` of addresses, whole pages of 4 KiB; pages take memory once they are written. Null if the system refuses.
  [[nodiscard]] static std::unique_ptr<SharedWindow> create(plan::Index bytes);
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// Pages for `bytes`, of which the first `wanted` will be used, at the lowest free addresses; null: none are free.
  [[nodiscard]] std::byte* take(plan::Index bytes, plan::Index wanted);
  /// Returns pages that take() gave for as many bytes to the system.
  void give_back(std::byte* data, plan::Index bytes);
  /// The position in the window of memory that take() gave.
  [[nodiscard]] plan::Index offset_of(const std::byte* data) const;
  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] plan::Index bytes() const { return bytes_; }
  /// A number that no other window has, also at its start.
  [[nodiscard]] plan::Index mark() const;
  /// Neighbours have mapped the file.
  void close_file();

 private:
  SharedWindow(int file, std::byte* data, plan::Index bytes);

  int file_;
  std::byte* data_;
  plan::Index bytes_;
  std::map<plan::Index, plan::Index> free_;  ///< begin and end, never adjacent
};

/// The windows of the ranks of this node.
class SharedWindows {
 public:
  /// Blocks and pieces of fewer bytes are sent.
  static constexpr plan::Index kLeast = plan::Index{256} << 10;

  /// Collective. Null, on all ranks, if any rank cannot map its neighbours' windows: `refused` then has the reason.
  /// `least`: see kLeast; `bytes`: addresses of a window, 0: in proportion to the machine's memory.
  [[nodiscard]] static std::unique_ptr<SharedWindows> open(World& world, std::string& refused,
                                                           plan::Index least = kLeast, plan::Index bytes = 0);
  ~SharedWindows();
  SharedWindows(const SharedWindows&) = delete;
  SharedWindows& operator=(const SharedWindows&) = delete;

  /// Decides which pieces are read in place.
  [[nodiscard]] const plan::InPlace& rule() const { return rule_; }
  /// True if a block of that size belongs into the window.
  [[nodiscard]] bool has(plan::Index bytes) const { return !neighbours_.empty() && bytes >= rule_.least; }
  [[nodiscard]] SharedWindow& own() { return *own_; }
  [[nodiscard]] const SharedWindow& own() const { return *own_; }
  /// Memory of a neighbour, by its offset there. Read-only.
  [[nodiscard]] const std::byte* address(int rank, plan::Index offset) const;

 private:
  struct Card;
  struct Neighbour {
    const std::byte* data = nullptr;
    plan::Index bytes = 0;
  };
  SharedWindows() = default;
  /// The reason for failure, or an empty text.
  [[nodiscard]] std::string map(int rank, const Card& card);

  std::unique_ptr<SharedWindow> own_;
  plan::InPlace rule_;
  std::map<int, Neighbour> neighbours_;  ///< by rank
};

}  // namespace tdsl::rt
