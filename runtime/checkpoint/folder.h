#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The directory of a program's checkpoints. A checkpoint is written as `.ck-000012.ATTEMPT` and renamed when all of it
// is on disk, so `ck-000012` is always complete. `newest` contains the name of the last one, for scripts.
//
// Tensors that do not change for a while are written once, to a base to which checkpoints refer.
//
//     DIR/ck-000011/{manifest, rank-00000.bin, rank-00001.bin}   DIR/ck-000012/…   DIR/base-000011/{rank-00000.bin, …}
//     DIR/newest

namespace tdsl::rt::checkpoint {

/// Used on rank 0, except the paths, which need no file and throw nothing. The other functions throw RunError with file
/// and reason unless they are noexcept. Numbers count checkpoints from 1; `attempt` is a name unique among the runs
/// that use this directory.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string checkpoint(std::int64_t number) const;  ///< `DIR/ck-000012`
  [[nodiscard]] std::string unfinished(std::int64_t number,
                                       const std::string& attempt) const;  ///< `DIR/.ck-000012.ATTEMPT`
  [[nodiscard]] std::string base(std::int64_t number) const;               ///< `DIR/base-000012`
  [[nodiscard]] std::string unfinished_base(std::int64_t number,
                                            const std::string& attempt) const;  ///< `DIR/.base-000012.ATTEMPT`
  /// Directory of the blocks that a checkpoint's manifest assigns to this base; 0: the checkpoint itself.
  [[nodiscard]] static std::string files_of(const std::string& checkpoint, std::int64_t base);
  [[nodiscard]] static std::string manifest(const std::string& checkpoint) { return checkpoint + "/manifest"; }
  /// A rank's file in a checkpoint or a base.
  [[nodiscard]] static std::string rank_file(const std::string& checkpoint, std::size_t rank);

  /// Creates the directory if necessary, and checks that files can be created in it.
  void prepare() const;
  /// Numbers of the checkpoints, ascending.
  [[nodiscard]] std::vector<std::int64_t> numbers() const;
  /// Creates the directories for the files of a checkpoint, and optionally of a base with the same number.
  void begin(std::int64_t number, const std::string& attempt, bool with_base = false) const;
  /// Writes the manifest, renames base and checkpoint to their final names, and updates `newest`. All files of ranks
  /// must be on disk.
  void commit(std::int64_t number, const std::string& attempt, const std::string& manifest,
              bool with_base = false) const;
  /// Removes the files of an unfinished checkpoint. Ignores failures.
  void give_up(std::int64_t number, const std::string& attempt) const noexcept;
  /// Removes all checkpoints except the last `kept`, `spared` and those of another version, and calls sweep().
  void prune(std::size_t kept, const std::string& attempt, const std::string& spared) const noexcept;
  /// Removes leftovers of other attempts, and bases to which no checkpoint refers; keeps all bases while a manifest
  /// cannot be read.
  void sweep(const std::string& attempt) const noexcept;

 private:
  void remove_others(const std::string& attempt) const;

  std::string path_;
};

}  // namespace tdsl::rt::checkpoint
