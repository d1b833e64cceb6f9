#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/message_id.h"

// Note [Datasets are written past the library] Rank 0 creates a dataset with contiguous elements through the library,
// and closes the file before any rank writes: the metadata is then complete, and the library does not modify it again.
// After that all ranks write elements directly at their offsets, as in a .npy file. Further datasets of the run are
// appended while elements are being written.

namespace tdsl::rt {

/// Created by rank 0, or opened by another rank.
struct Hdf5Writer::Target {
  explicit Target(OutputFile output) : file(std::move(output)) {}
  OutputFile file;
  std::int64_t reserved = 0;  ///< bytes
  bool committed = false;
};

namespace {

/// Tokens of other writers begin with a path.
constexpr std::string_view kHdf5Mark{"\1hdf5\0", 6};

std::int64_t bytes_of(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail_file(path, "cannot examine", errno);
  return status.st_size;
}

std::string whole_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(file, error);
  return error ? file : whole.string();
}

/// Files being written by this process, by name.
std::weak_ptr<Hdf5Writer::Target>& target_slot(const std::string& file) {
  static std::map<std::string, std::weak_ptr<Hdf5Writer::Target>>& targets =
      *new std::map<std::string, std::weak_ptr<Hdf5Writer::Target>>();
  return targets[whole_path(file)];
}

}  // namespace

std::shared_ptr<Hdf5Writer> Hdf5Writer::create(const std::string& path, ElementType type, ExtentSpan shape) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  const Hdf5Name name = hdf5_name(path).value();
  const Hdf5Plugin& plugin = hdf5_plugin(path);
  std::weak_ptr<Target>& slot = target_slot(name.file);
  std::shared_ptr<Target> target = slot.lock();
  const bool first = target == nullptr || target->committed;
  // The library can only open named files.
  if (first) target = std::make_shared<Target>(OutputFile::create(name.file, Unfinished::kNamed));
  const std::shared_ptr<Hdf5Writer> w(new Hdf5Writer());
  const int fd = target->file.fd();
  try {
    w->offset_ = plugin.create("/proc/self/fd/" + std::to_string(fd), first, name.dataset, element_info(type).kind,
                               static_cast<int>(element_size(type)), shape);
  } catch (const std::runtime_error& error) {
    throw RunError(with_id("cannot write `" + path + "`: " + error.what(), "cannot-write"));
  }
  const std::int64_t bytes = bytes_of(fd, path);
  target->file.reserve(bytes, std::exchange(target->reserved, bytes));
  slot = target;
  w->target_ = std::move(target);
  w->path_ = path;
  w->type_ = type;
  w->shape_.assign(shape.begin(), shape.end());
  return w;
}

std::string Hdf5Writer::token() const {
  std::string token(kHdf5Mark);
  token += target_->file.token();
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(path_);
  put(element_name(type_));
  put(std::to_string(offset_));
  for (const std::int64_t extent : shape_) put(std::to_string(extent));
  return token;
}

std::shared_ptr<Hdf5Writer> Hdf5Writer::open(std::string_view token) {
  if (!token.starts_with(kHdf5Mark)) return nullptr;
  token.remove_prefix(kHdf5Mark.size());
  const std::shared_ptr<Hdf5Writer> w(new Hdf5Writer());
  w->target_ = std::make_shared<Target>(OutputFile::open(token));
  w->path_ = take_token_part(token);
  w->type_ = element_type_named(take_token_part(token)).value();
  w->offset_ = std::stoll(take_token_part(token));
  while (!token.empty()) w->shape_.push_back(std::stoll(take_token_part(token)));
  return w;
}

void Hdf5Writer::sync() const { target_->file.sync(); }

void Hdf5Writer::commit() {
  if (!std::exchange(target_->committed, true)) target_->file.commit();
}

void Hdf5Writer::release() noexcept { target_->file.release(); }

void Hdf5Writer::write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const {
  TDSL_CHECK(target_->file.fd() >= 0 && type_ == from, "an open file, and elements of the dataset's type");
  count(write_dense(target_->file.fd(), shape_, offset_, path_, from, lo, hi, src, strides));
}

void require_hdf5_target(const std::string& path, std::span<const std::string> outputs) {
  const Hdf5Name mine = hdf5_name(path).value();
  const std::string file = whole_path(mine.file);
  std::vector<std::string> written;
  for (const std::string& other : outputs) {
    const std::optional<Hdf5Name> name = hdf5_name(other);
    if (name && whole_path(name->file) == file) written.push_back(name->dataset);
  }
  if (std::ranges::count(written, mine.dataset) > 1)
    throw RunError("cannot write `" + path + "`: another output goes to the same dataset [file-clash]");
  for (const std::string& other : written) {
    if (other.starts_with(mine.dataset + "/"))
      throw RunError("cannot write `" + path + "`: it is no group, but another output goes to `" + other +
                     "` in this file [file-clash]");
  }
  const Hdf5Plugin& plugin = hdf5_plugin(path);
  struct stat target {};
  if (::stat(mine.file.c_str(), &target) != 0 || !S_ISREG(target.st_mode)) return;
  std::vector<std::string> there;
  try {
    there = plugin.datasets(mine.file);
  } catch (const std::runtime_error& error) {
    throw RunError(
        with_id("cannot write `" + path + "`: its existing contents cannot be read: " + error.what(), "cannot-write"));
  }
  for (const std::string& dataset : there) {
    if (std::ranges::find(written, dataset) != written.end()) continue;
    throw RunError(
        "cannot write `" + path + "`: the file is replaced whole, and its dataset `" + dataset +
        "`, which this run does not write, would be lost; write to another file, or remove this one [cannot-write]");
  }
}

}  // namespace tdsl::rt
