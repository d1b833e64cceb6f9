#include "runtime/app/session/session_inputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "runtime/app/session/entry_memory.h"
#include "runtime/app/session/together.h"
#include "runtime/base/number_format.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/io/tensor/zarr.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

namespace {

/// Runs an action on every rank; all ranks throw the error of the first that fails.
template <class Action>
void run_together(World& world, const Action& action) {
  Together together(world);
  together.attempt(action);
  together.agree();
}

/// Sums over all ranks, available on all ranks.
std::vector<Index> sums(World& world, const std::vector<Index>& mine) {
  // Each rank receives the parts of all ranks: at most 64 MiB at a time.
  const std::size_t most = std::max<std::size_t>(1, (std::size_t{1} << 23) / static_cast<std::size_t>(world.size()));
  std::vector<Index> all(mine.size(), 0);
  std::vector<Index> theirs;
  for (std::size_t first = 0; first < mine.size(); first += most) {
    const std::span<const Index> part = std::span(mine).subspan(first, std::min(most, mine.size() - first));
    theirs.resize(part.size());
    for (const std::vector<std::byte>& bytes : world.access()->all_gather(std::as_bytes(part))) {
      std::memcpy(theirs.data(), bytes.data(), bytes.size());
      for (std::size_t k = 0; k < theirs.size(); ++k) all[first + k] += theirs[k];
    }
  }
  return all;
}
Index largest(World& world, Index mine) {
  Index most = mine;
  for (const std::vector<Index>& theirs : world.access()->all_gather_values(std::span(&std::as_const(mine), 1)))
    most = std::max(most, theirs.front());
  return most;
}

}  // namespace

SessionInputs::SessionInputs(World& world, const ProgramInfo& info, const AppOptions& options, Open open)
    : open_(std::move(open)) {
  for (const InputDeclaration& input : info.inputs()) {
    const auto given = options.inputs.find(input.name);
    TDSL_CHECK(given != options.inputs.end(), "input " + input.name + " has a file");
    files_[input.name].path = given->second;
  }
  std::string found;
  on_first_rank(world, {&found}, [&] {
    look_at_headers(info, options);
    look_at_targets(info, options);
    found = encode_files(info);
  });
  decode_files(info, found);
  if (files_.empty()) {
    bind_dimensions(info, options);
    return;
  }
  run_together(world, [&] {
    if (world.rank() != 0) open_again(world, info);
  });
  read_entries(world, info, options);
  bind_dimensions(info, options);
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    if (file.file->entries() != nullptr && !input.sparse.empty()) count_rows(world, file);
  }
}

/// Rank 0's results for the others: identities and shapes in declaration order.
std::string SessionInputs::encode_files(const ProgramInfo& info) const {
  std::vector<std::int64_t> numbers;
  for (const InputDeclaration& input : info.inputs()) {
    const File& file = files_.at(input.name);
    const FileIdentity& identity = file.identity;
    numbers.insert(numbers.end(), {static_cast<std::int64_t>(identity.device),
                                   static_cast<std::int64_t>(identity.inode), identity.bytes, identity.modified,
                                   file.at_least ? 1 : 0, static_cast<std::int64_t>(file.shape.size())});
    numbers.insert(numbers.end(), file.shape.begin(), file.shape.end());
  }
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)};
}

void SessionInputs::decode_files(const ProgramInfo& info, const std::string& text) {
  std::vector<std::int64_t> numbers(text.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), text.data(), text.size());
  auto number = numbers.begin();
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    file.identity.device = static_cast<std::uint64_t>(*number++);
    file.identity.inode = static_cast<std::uint64_t>(*number++);
    file.identity.bytes = *number++;
    file.identity.modified = *number++;
    file.at_least = *number++ != 0;
    const auto rank = static_cast<std::ptrdiff_t>(*number++);
    file.shape.assign(number, number + rank);
    number += rank;
  }
  TDSL_CHECK(number == numbers.end(), "a text made by encode_files");
}

/// On a rank of rank 0's node the file must be the same one; other nodes may have their own copies, with the same size
/// and, if the format states it, the same shape. (Contents are not compared: that would mean reading all copies.)
void SessionInputs::open_again(const World& world, const ProgramInfo& info) {
  const bool same_node = world.topology().node == world.topology().node_of_rank[0];
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    file.file.emplace(open_(input.name, file.path, input.type));
    const FileIdentity& identity = file.file->identity();
    const bool same_shape = file.at_least || file.file->shape().value_or(std::vector<Index>()) == file.shape;
    // A file modified within the resolution of its mtime, or with its mtime reset, still has a different header.
    if (same_shape && (same_node ? identity == file.identity : identity.bytes == file.identity.bytes)) continue;
    const std::string sizes =
        " of " + std::to_string(identity.bytes) + " bytes, not " + std::to_string(file.identity.bytes);
    throw RunError("input " + input.name + ": `" + file.path + "` is another file on rank " +
                   std::to_string(world.rank()) + " than on rank 0" +
                   (same_node                               ? "; somebody has just replaced it or written to it"
                    : identity.bytes != file.identity.bytes ? ": one" + sizes
                                                            : ": one of another shape") +
                   " [file-changed]");
  }
}

/// Ranks are in the order of their shares, so the first error is the first one in the file.
void SessionInputs::read_entries(World& world, const ProgramInfo& info, const AppOptions& options) {
  EntryMemory memory(options.memory_bytes.value_or(0));
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    const EntryFile* const entries = file.file->entries();
    if (entries == nullptr) continue;
    if (options.dry_run && entries->shape() && input.sparse.empty()) continue;
    try {
      file.file->keep_at_most(memory.room());
      run_together(world, [&] { file.part = entries->read(input.type, world.rank(), world.size()); });
      const bool complete = file.part.entries.complete();
      memory.add(file.part.entries.bytes(), complete);
      if (options.memory_bytes && sums(world, {complete ? 0 : 1}).front() > 0) {
        file.part.entries = {};
        memory.refuse(input);
        continue;
      }
      settle_entries(world, file);
      if (info.is_sparse(input.name)) file.part.entries.set_whole(false);
    } catch (const RunError& error) {
      throw RunError(SourceLine{info.declaration().source_file, input.line}, error.what(), error.code());
    }
  }
  if (memory.refused() == nullptr) return;
  const Index least = largest(world, memory.least());
  throw RunError(
      SourceLine{info.declaration().source_file, memory.refused()->line},
      "--memory " + given_size(*options.memory_bytes, options.memory_text) +
          " is too small: a rank's share of the entries of `" + files_.at(memory.refused()->name).path +
          "` is read at once, and one file's entries are there twice while they are brought to their tiles: " +
          shown_size(least, options.memory_text) + "; give at least --memory " +
          option_size(least, options.memory_text) + " [out-of-memory]",
      ExitCode::kUsage);
}

void SessionInputs::settle_entries(World& world, File& file) {
  const EntryFile::Tally& tally = file.part.tally;
  std::vector<std::int64_t> mine = {tally.lines, static_cast<std::int64_t>(tally.reach.size())};
  mine.insert(mine.end(), tally.reach.begin(), tally.reach.end());
  mine.insert(mine.end(), tally.sums.begin(), tally.sums.end());
  std::vector<EntryFile::Tally> tallies;
  for (const std::vector<std::int64_t>& numbers : world.access()->all_gather_values<std::int64_t>(mine)) {
    const auto behind = numbers.begin() + 2 + numbers.at(1);
    tallies.push_back({numbers.front(), {numbers.begin() + 2, behind}, {behind, numbers.end()}});
  }
  file.shape = file.file->entries()->settle(tallies, world.rank(), file.part);
  file.entries = sums(world, {file.part.entries.count()}).front();
}

/// For a sparse tensor whose extents are known.
void SessionInputs::count_rows(World& world, File& file) {
  if (file.shape.empty() || file.shape[0] == 0) return;
  const auto counted = [&](int dimension) {
    return sums(world, entries_by_bin(file.part.entries, file.shape[plan::idx(dimension)], dimension));
  };
  std::vector<plan::Index> by_columns;
  if (file.shape.size() == 2) by_columns = counted(1);
  file.rows = row_counts_of(file.shape[0], counted(0), by_columns);
}

bool SessionInputs::in_order(const std::string& input) const { return files_.at(input).file->in_order(); }

plan::Estimate SessionInputs::stored(const std::string& input) const {
  const File& file = files_.at(input);
  return file.entries ? stored_of(*file.entries, file.shape) : plan::guessed_stored(file.shape);
}

void SessionInputs::look_at_headers(const ProgramInfo& info, const AppOptions& options) {
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    const SourceLine place{info.declaration().source_file, input.line};
    try {
      file.file.emplace(open_(input.name, file.path, input.type));
      file.shape = file.file->shape().value_or(std::vector<Index>());
      file.at_least = file.file->may_be_longer();
      file.identity = file.file->identity();
    } catch (const RunError& error) { throw RunError(place, error.what(), error.code()); }
    if (file.file->rank() != input.binds.size()) {
      throw RunError(place, other_rank_text(
                                input.name, input.binds.size(), " in `" + file.path + "`", file.file->rank(),
                                file.file->shape() ? std::optional<std::span<const Index>>(file.shape) : std::nullopt) +
                                " [wrong-shape]");
    }
  }
  bind_dimensions(info, options);
}

void SessionInputs::look_at_targets(const ProgramInfo& info, const AppOptions& options) {
  std::vector<std::string> all;
  for (const auto& [name, path] : options.outputs) all.push_back(path);
  const auto look = [&all](const std::string& path) {
    const FileKind kind = writable_kind(path);
    if (kind == FileKind::kZarr) return require_zarr_target(path);
    const std::string file = file_behind(path);
    if (::access(directory_of(file).c_str(), W_OK | X_OK) != 0) fail_file(path, "cannot write", errno);
    struct stat target {};
    if (::stat(file.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
      throw RunError("cannot write `" + path + "`: it is not a regular file [cannot-write]");
    }
    if (kind == FileKind::kHdf5) require_hdf5_target(path, all);
  };
  const auto is_series = [&info](const std::string& name) {
    return std::ranges::any_of(info.declaration().outputs,
                               [&](const TensorDeclaration& o) { return o.name == name && o.series; });
  };
  for (const auto& [name, path] : options.outputs) {
    try {
      info.require_writable(name, path);
      look(path);
      for (const auto& [other, its_path] : options.outputs) {
        if (is_series(name) && !is_series(other) && file_behind(path) == file_behind(its_path))
          throw RunError("cannot write `" + path + "`: a file of series holds no other outputs, here " + other +
                         " [cannot-write]");
      }
    } catch (const RunError& error) {
      throw RunError(SourceLine{info.declaration().source_file, info.line_of_output(name)}, error.what(), error.code());
    }
  }
}

/// The place of the dimension in its input.
std::string SessionInputs::text_of(const Source& source, const std::map<std::string, File>& files) {
  const InputDeclaration& input = *source.input;
  return "dimension " + std::to_string(source.dimension) + " of " + input.name + " (`" + files.at(input.name).path +
         "`)";
}

/// Binds the names of dimensions from files with a shape, or with entries that give a lower bound of it.
void SessionInputs::bind_files(const ProgramInfo& info, const std::map<std::string, File>& files, Bound& bound,
                               bool at_least) {
  for (const InputDeclaration& input : info.inputs()) {
    const File& file = files.at(input.name);
    if (file.at_least != at_least) continue;
    for (std::size_t d = 0; d < input.binds.size(); ++d) {
      const std::string& name = input.binds[d];
      if (name.empty() || file.shape.empty()) continue;  // unknown before the file is read
      const Source here{file.shape[d], &input, d, at_least};
      const auto [entry, first] = bound.emplace(name, here);
      Source& source = entry->second;
      if (first || source.extent == here.extent) continue;
      if (at_least && (source.at_least || source.extent > here.extent)) {
        if (source.extent < here.extent) source = here;
        continue;
      }
      const std::string extent = std::to_string(source.extent);
      throw RunError(SourceLine{info.declaration().source_file, input.line},
                     "the inputs disagree about dimension " + name + ": " + text_of(here, files) +
                         (at_least ? " " + reaches_text(here.extent) : " has " + std::to_string(here.extent)) +
                         ", but " +
                         (source.input == nullptr ? "--set " + name + "=" + extent + " fixes it"
                                                  : text_of(source, files) + " has " + extent) +
                         " [wrong-shape]");
    }
  }
}

void SessionInputs::bind_dimensions(const ProgramInfo& info, const AppOptions& options) {
  Bound bound;
  for (const auto& [name, extent] : options.dimensions) bound[name] = {extent};
  bind_files(info, files_, bound, false);
  bind_files(info, files_, bound, true);
  for (const auto& [name, source] : bound) dimensions_.insert_or_assign(name, source.extent);
  for (const InputDeclaration& input : info.inputs()) {
    File& file = files_.at(input.name);
    if (!file.at_least || file.shape.empty()) continue;
    for (std::size_t d = 0; d < input.binds.size(); ++d) {
      if (!input.binds[d].empty()) file.shape[d] = bound.at(input.binds[d]).extent;
    }
  }
}

Index SessionInputs::dimension(std::string_view name) const {
  const auto found = dimensions_.find(name);
  TDSL_CHECK(found != dimensions_.end(), "dimension " + std::string(name) + " is bound");
  return found->second;
}

void SessionInputs::require_shape(const std::string& input, const std::vector<Index>& shape, SourceLine place) const {
  const File& file = files_.at(input);
  if (file.shape == shape) return;
  if (file.at_least && file.shape.size() == shape.size() &&
      std::ranges::equal(file.shape, shape, std::ranges::less_equal()))
    return;
  throw ProgramError(place, "input " + input + " should have shape " + shape_text(shape) + ", but the array in `" +
                                file.path +
                                (file.at_least ? "` has entries beyond it: they need at least " : "` has shape ") +
                                shape_text(file.shape) + " [wrong-shape]");
}

}  // namespace tdsl::rt
