#include "runtime/checkpoint/rank_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "runtime/checkpoint/text.h"
#include "runtime/io/checksum.h"
#include "runtime/io/file_bytes.h"

namespace tdsl::rt::checkpoint {

namespace {

constexpr Index kAlignment = 4096;
constexpr Index kVerifiedAtOnce = Index{4} << 20;
constexpr std::uint64_t kMagic = 0x31544b434c534454;  // "TDSLCKT1"

/// Layout in the file.
struct Entry {
  std::int64_t tensor, rank;
  std::int64_t lo[plan::kMaxRank], hi[plan::kMaxRank];
  std::int64_t offset, bytes;
  std::uint64_t sum;
};
struct Trailer {
  std::uint64_t magic;
  std::int64_t entries, offset;
  std::uint64_t sum;  ///< of the entries and the preceding members
};
static_assert(sizeof(Entry) == 21 * 8 && sizeof(Trailer) == 32);

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

Entry entry_of(const SavedBlock& block) {
  Entry entry{block.tensor, block.box.rank, {}, {}, block.offset, block.bytes, block.sum};
  for (int d = 0; d < block.box.rank; ++d) {
    entry.lo[d] = block.box[d].lo;
    entry.hi[d] = block.box[d].hi;
  }
  return entry;
}

SavedBlock block_of(const Entry& entry) {
  SavedBlock block{entry.tensor, {}, entry.offset, entry.bytes, entry.sum};
  block.box.rank = static_cast<int>(entry.rank);
  for (int d = 0; d < block.box.rank; ++d) block.box[d] = {entry.lo[d], entry.hi[d]};
  return block;
}

auto key_of(plan::TensorId tensor, const Box& box) {
  std::array<Index, plan::kMaxRank> corner{};
  for (int d = 0; d < box.rank; ++d) corner[plan::idx(d)] = box[d].lo;
  return std::tuple(tensor, corner);
}

std::uint64_t footer_sum(std::span<const Entry> entries, const Trailer& trailer) {
  Checksum sum;
  sum.add(std::as_bytes(entries));
  sum.add(bytes_of(trailer).first(sizeof(Trailer) - sizeof trailer.sum));
  return sum.value();
}

}  // namespace

RankFileWriter::RankFileWriter(std::string path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail_file(path_, "cannot create", errno);
}

RankFileWriter::~RankFileWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void RankFileWriter::write(plan::TensorId tensor, const Box& box, std::span<const std::byte> bytes) {
  SavedBlock block{tensor, box, 0, static_cast<Index>(bytes.size()), checksum(bytes)};
  {
    const std::scoped_lock lock(mutex_);
    block.offset = end_;
    end_ += plan::ceil_div(block.bytes, kAlignment) * kAlignment;
    blocks_.push_back(block);
  }
  write_at(fd_, bytes, block.offset, path_);
}

FileSeal RankFileWriter::finish() {
  std::vector<Entry> entries;
  std::ranges::sort(blocks_, {}, [](const SavedBlock& b) { return key_of(b.tensor, b.box); });
  for (const SavedBlock& block : blocks_) entries.push_back(entry_of(block));
  Trailer trailer{kMagic, static_cast<Index>(entries.size()), end_, 0};
  trailer.sum = footer_sum(entries, trailer);
  const auto listed = static_cast<Index>(entries.size() * sizeof(Entry));
  write_at(fd_, std::as_bytes(std::span(entries)), end_, path_);
  write_at(fd_, bytes_of(trailer), end_ + listed, path_);
  if (::fsync(fd_) != 0) fail_file(path_, "cannot write", errno);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) fail_file(path_, "cannot write", errno);
  return {end_ + listed + static_cast<Index>(sizeof trailer), trailer.sum};
}

RankFileReader::RankFileReader(std::string path, const FileSeal& seal) : file_(std::move(path)) {
  const auto fail = [this](const std::string& what) { throw Damaged("`" + file_.path() + "`: " + what); };
  if (file_.bytes() != seal.bytes)
    fail("has " + std::to_string(file_.bytes()) + " bytes instead of " + std::to_string(seal.bytes));
  Trailer trailer{};
  const auto trailer_at = seal.bytes - static_cast<Index>(sizeof trailer);
  if (trailer_at < 0) fail("is too short");
  read_at(file_.fd(), std::as_writable_bytes(std::span(&trailer, 1)), trailer_at, file_.path());
  const bool fits = trailer.magic == kMagic && trailer.entries >= 0 && trailer.offset >= 0 &&
                    trailer.offset <= trailer_at &&
                    (trailer_at - trailer.offset) % static_cast<Index>(sizeof(Entry)) == 0 &&
                    (trailer_at - trailer.offset) / static_cast<Index>(sizeof(Entry)) == trailer.entries;
  if (!fits) fail("its footer is damaged");
  std::vector<Entry> entries(static_cast<std::size_t>(trailer.entries));
  read_at(file_.fd(), std::as_writable_bytes(std::span(entries)), trailer.offset, file_.path());
  if (footer_sum(entries, trailer) != trailer.sum || trailer.sum != seal.footer) fail("its footer is damaged");
  for (const Entry& entry : entries) blocks_.push_back(block_of(entry));
}

const SavedBlock* RankFileReader::find(plan::TensorId tensor, const Box& box) const {
  const auto found = std::ranges::lower_bound(blocks_, key_of(tensor, box), {},
                                              [](const SavedBlock& b) { return key_of(b.tensor, b.box); });
  return found != blocks_.end() && found->tensor == tensor && found->box == box ? &*found : nullptr;
}

void RankFileReader::read(const SavedBlock& block, Index from, std::span<std::byte> bytes) const {
  read_at(file_.fd(), bytes, block.offset + from, file_.path());
}

void RankFileReader::verify(const std::function<std::string(plan::TensorId)>& name_of) const {
  std::vector<std::byte> piece;
  for (const SavedBlock& block : blocks_) {
    Checksum sum;
    for (Index from = 0; from < block.bytes; from += kVerifiedAtOnce) {
      piece.resize(static_cast<std::size_t>(std::min(kVerifiedAtOnce, block.bytes - from)));
      read(block, from, piece);
      sum.add(piece);
    }
    if (sum.value() == block.sum) continue;
    std::string where;
    for (int d = 0; d < block.box.rank; ++d) {
      where += (d == 0 ? "" : ", ") + std::to_string(block.box[d].lo) + ".." + std::to_string(block.box[d].hi);
    }
    const std::string name = name_of ? name_of(block.tensor) : "";
    throw Damaged("`" + file_.path() + "`: the block [" + where + "] of " +
                  (name.empty() ? "tensor " + std::to_string(block.tensor) : "`" + name + "`") + " is damaged");
  }
}

}  // namespace tdsl::rt::checkpoint
