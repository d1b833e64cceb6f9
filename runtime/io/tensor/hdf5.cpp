#include "runtime/io/tensor/hdf5.h"

#include <dlfcn.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/tensor/tile_parts.h"
#include "runtime/message_id.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

/// Normalised as in HDF5: one slash before every name, none at the end.
std::string normal_dataset(std::string_view name) {
  std::string normal;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('/'));
    if (!part.empty() && part != ".") normal.append("/").append(part);
    name.remove_prefix(std::min(name.size(), part.size() + 1));
  }
  return normal;
}

[[noreturn]] void fail_dataset(const std::string& path, const std::string& what) {
  throw RunError(with_id("`" + path + "` cannot be read: " + what, "bad-file"));
}

/// Searches the installation named by TDSL_HOME, otherwise the executable's library path, i.e. the installation that
/// built it.
void* load_plugin() {
  const char* const name = "libtdsl_hdf5.so";
  if (const char* const home = std::getenv("TDSL_HOME")) {
    if (void* const library = ::dlopen((std::string(home) + "/lib/tdsl/" + name).c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
  }
  return ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

const Hdf5Plugin* find_plugin(std::string& why) {
  void* const library = load_plugin();
  void* const function = library == nullptr ? nullptr : ::dlsym(library, "tdsl_hdf5_plugin_3");
  if (function != nullptr) return reinterpret_cast<decltype(&tdsl_hdf5_plugin_3)>(function)();
  const char* const error = ::dlerror();
  why = error == nullptr ? "unknown error" : error;
  return nullptr;
}

NpyHeader header_of(const Hdf5Layout& layout, const std::string& path) {
  NpyHeader header;
  header.kind = layout.kind;
  header.bytes = layout.bytes;
  header.shape = layout.shape;
  header.swapped = layout.offset >= 0 && layout.swapped;
  header.data_offset = std::max<std::int64_t>(layout.offset, 0);
  if (layout.shape.size() > kMaxRank)
    fail_dataset(path, "it has " + std::to_string(layout.shape.size()) + " dimensions; at most " +
                           std::to_string(kMaxRank) + " are supported");
  std::int64_t bytes = header.bytes;
  for (const std::int64_t extent : header.shape) {
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      fail_dataset(path, "it has more elements than 64 bits can count");
  }
  return header;
}

/// Extents of one read through the library: whole chunks, because a chunk is decompressed as a whole; as many as fit,
/// preferably along the last dimensions.
Extents piece_of(const Hdf5Layout& layout) {
  Extents piece = layout.chunk;
  if (piece.empty()) piece.assign(layout.shape.size(), 1);
  if (!layout.chunk_offsets.empty() || layout.packed) return piece;
  std::int64_t bytes = layout.bytes;
  for (const std::int64_t edge : piece) bytes *= edge;
  for (std::size_t d = piece.size(); d-- > 0;) {
    const std::int64_t times =
        std::clamp<std::int64_t>(kPieceBytes / std::max<std::int64_t>(bytes, 1), 1,
                                 std::max<std::int64_t>(1, (layout.shape[d] + piece[d] - 1) / piece[d]));
    piece[d] *= times;
    bytes *= times;
  }
  return piece;
}

}  // namespace

std::optional<Hdf5Name> hdf5_name(const std::string& path) {
  for (const std::string_view extension : {".h5", ".hdf5"}) {
    const std::size_t at = path.find(std::string(extension) + ":");
    if (at != std::string::npos && at > 0)
      return Hdf5Name{path.substr(0, at + extension.size()),
                      normal_dataset(std::string_view(path).substr(at + extension.size() + 1))};
    if (path.size() > extension.size() && path.ends_with(extension)) return Hdf5Name{path, {}};
  }
  return std::nullopt;
}

const Hdf5Plugin& hdf5_plugin(const std::string& path) {
  static std::string why;
  static const Hdf5Plugin* const plugin = find_plugin(why);
  if (plugin != nullptr) return *plugin;
  throw RunError("`" + path + "`: HDF5 files need libtdsl_hdf5.so, which cannot be loaded: " + why +
                 ". It is a part of TDSL where libhdf5 was there when that was built (Debian: apt-get install "
                 "libhdf5-dev, then build TDSL again); TDSL_HOME says where TDSL is [not-supported]");
}

Hdf5Reader::Hdf5Reader(const std::string& path) : path_(path), file_(hdf5_name(path)->file) {
  const Hdf5Plugin& plugin = hdf5_plugin(path);
  try {
    dataset_ = plugin.open("/proc/self/fd/" + std::to_string(file_.fd()), hdf5_name(path)->dataset);
  } catch (const std::runtime_error& error) { fail_dataset(path, error.what()); }
  header_ = header_of(dataset_->layout(), path);
  piece_ = piece_of(dataset_->layout());
}

/// Reads a box within one piece.
void Hdf5Reader::read_piece(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const {
  Extents extents(lo.size());
  auto bytes = static_cast<std::size_t>(header_.bytes);
  for (std::size_t d = 0; d < lo.size(); ++d) {
    extents[d] = hi[d] - lo[d];
    bytes *= static_cast<std::size_t>(extents[d]);
  }
  const auto elements = std::make_unique_for_overwrite<std::byte[]>(bytes);
  try {
    dataset_->read(lo, hi, elements.get());
  } catch (const std::runtime_error& error) { fail_dataset(path_, error.what()); }
  scatter_dense(elements.get(), header_, to, extents, dst, strides);
}

/// Reads the part from `lo` to `hi` of the chunk that begins at `first`; the library only supplies its bytes. False if
/// the chunk is not stored.
bool Hdf5Reader::read_packed(ElementType to, ExtentSpan first, ExtentSpan lo, ExtentSpan hi, void* dst,
                             ExtentSpan strides) const {
  const Hdf5Layout& layout = dataset_->layout();
  NpyHeader chunk = header_;
  chunk.shape = layout.chunk;
  chunk.swapped = layout.swapped;
  std::vector<std::byte> bytes;
  unsigned skipped = 0;
  try {
    if (!dataset_->read_chunk(first, bytes, skipped)) return false;
    unpack_chunk(bytes, layout, skipped, static_cast<std::size_t>(chunk.element_count() * chunk.bytes));
  } catch (const std::runtime_error& error) { fail_dataset(path_, error.what()); }
  scatter_box(bytes.data(), chunk, to, layout.chunk, lo, hi, dst, strides);
  return true;
}

void Hdf5Reader::read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const {
  const Hdf5Layout& layout = dataset_->layout();
  const std::size_t rank = header_.shape.size();
  TDSL_CHECK(header_.widens_to(to) && lo.size() == rank && hi.size() == rank && strides.size() == rank,
             "a box of the dataset, whose elements widen");
  if (layout.offset >= 0) {
    read_dense(file_.fd(), header_, path_, to, lo, hi, dst, strides);
    return file_.require_unchanged();
  }
  NpyHeader chunk = header_;
  chunk.shape = layout.chunk;
  chunk.swapped = layout.swapped;
  for_each_tile(piece_, lo, hi, strides, [&](const TilePart& part) {
    const ExtentSpan part_lo = ExtentSpan(part.lo).first(rank), part_hi = ExtentSpan(part.hi).first(rank);
    std::int64_t number = 0;
    for (std::size_t d = 0; d < rank; ++d)
      number = number * ((header_.shape[d] + piece_[d] - 1) / piece_[d]) + part.tile[d];
    const std::int64_t offset =
        layout.chunk_offsets.empty() ? -1 : layout.chunk_offsets.at(static_cast<std::size_t>(number));
    visit_element_type(to, [&](auto tag) {
      void* const target = static_cast<typename decltype(tag)::type*>(dst) + part.offset;
      if (offset >= 0) {
        chunk.data_offset = offset;
        read_dense(file_.fd(), chunk, path_, to, part_lo, part_hi, target, strides);
        return;
      }
      Extents first(rank);
      for (std::size_t d = 0; d < rank; ++d) first[d] = part.tile[d] * piece_[d];
      if (layout.packed && read_packed(to, first, part_lo, part_hi, target, strides)) return;
      Extents from(rank), until(rank);
      for (std::size_t d = 0; d < rank; ++d) {
        from[d] = part.tile[d] * piece_[d] + part.lo[d];
        until[d] = part.tile[d] * piece_[d] + part.hi[d];
      }
      read_piece(to, from, until, target, strides);
    });
  });
  file_.require_unchanged();
}

namespace {

std::vector<std::byte> inflated(const std::vector<std::byte>& bytes, std::size_t size) {
  std::vector<std::byte> whole(size);
  uLongf length = size;
  const int result = ::uncompress(reinterpret_cast<Bytef*>(whole.data()), &length,
                                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_OK || length != size) throw std::runtime_error("a compressed chunk is damaged");
  return whole;
}

/// Reverses the shuffle filter: the first bytes of all elements are stored first, then the second ones, and so on; an
/// incomplete element is at the end.
std::vector<std::byte> unshuffled(const std::vector<std::byte>& bytes, std::size_t width) {
  std::vector<std::byte> elements(bytes);
  const std::size_t count = bytes.size() / width;
  for (std::size_t b = 0; b < width; ++b) {
    const std::byte* const from = bytes.data() + b * count;
    std::byte* const to = elements.data() + b;
    for (std::size_t i = 0; i < count; ++i) to[i * width] = from[i];
  }
  return elements;
}

}  // namespace

void unpack_chunk(std::vector<std::byte>& bytes, const Hdf5Layout& layout, unsigned skipped, std::size_t size) {
  for (std::size_t k = layout.filters.size(); k-- > 0;) {
    if ((skipped >> k & 1U) != 0) continue;
    bytes = layout.filters[k] == Hdf5Layout::Filter::kDeflate
                ? inflated(bytes, size)
                : unshuffled(bytes, static_cast<std::size_t>(layout.bytes));
  }
  if (bytes.size() != size)
    throw std::runtime_error("a chunk has " + std::to_string(bytes.size()) + " bytes instead of " +
                             std::to_string(size));
}

}  // namespace tdsl::rt
