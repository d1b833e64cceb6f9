#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The directory of a program's checkpoints. A checkpoint is written under `.ck-000012.ATTEMPT` and renamed when all of
// it is on disk, so `ck-000012` is always whole. `newest` has the name of the last one, for scripts.
//
// What does not change for a while is written once, to a base that checkpoints refer to.
//
//     DIR/ck-000011/{manifest, rank-00000.bin, rank-00001.bin}   DIR/ck-000012/…   DIR/base-000011/{rank-00000.bin, …}
//     DIR/newest

namespace tdsl::rt::checkpoint {

/// Of rank 0, but for the paths, which need no file and throw nothing. The other functions throw RunError that names
/// file and reason, unless they are noexcept. Numbers count checkpoints from 1; `attempt` is a name that no other run
/// of this directory has.
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
  /// Where the blocks are of which a checkpoint says that this base has them; 0: the checkpoint itself.
  [[nodiscard]] static std::string files_of(const std::string& checkpoint, std::int64_t base);
  [[nodiscard]] static std::string manifest(const std::string& checkpoint) { return checkpoint + "/manifest"; }
  /// The file of a rank in a checkpoint or a base.
  [[nodiscard]] static std::string rank_file(const std::string& checkpoint, std::size_t rank);

  /// Makes the directory unless it is there, and sees that files can be made in it.
  void prepare() const;
  /// Numbers of the checkpoints, ascending.
  [[nodiscard]] std::vector<std::int64_t> numbers() const;
  /// Makes the directories for the files of a checkpoint, and of a base of that number.
  void begin(std::int64_t number, const std::string& attempt, bool with_base = false) const;
  /// Writes the manifest, gives base and checkpoint their names and notes that it is the newest. All files of ranks are
  /// on disk.
  void commit(std::int64_t number, const std::string& attempt, const std::string& manifest,
              bool with_base = false) const;
  /// Removes what an attempt has written of a checkpoint that has not got its name. Says nothing where it cannot.
  void give_up(std::int64_t number, const std::string& attempt) const noexcept;
  /// Removes all checkpoints but the last ones, `spared` and those of another version, and sweeps.
  void prune(std::size_t kept, const std::string& attempt, const std::string& spared) const noexcept;
  /// Removes what other attempts have left, and bases that no checkpoint refers to: none of them while a manifest is
  /// there that cannot be read.
  void sweep(const std::string& attempt) const noexcept;

 private:
  void remove_others(const std::string& attempt) const;

  std::string path_;
};

}  // namespace tdsl::rt::checkpoint
