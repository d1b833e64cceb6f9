#include "runtime/io/tensor/zarr.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/json_reader.h"
#include "runtime/io/npy/npy_elements.h"
#include "runtime/io/tensor/tile_parts.h"
#include "runtime/io/text_file.h"
#include "runtime/message_id.h"

namespace tdsl::rt {

namespace {

constexpr std::uintmax_t kMostHeader = 1 << 20;

[[noreturn]] void no_zarr(const std::string& path, const std::string& what) {
  throw RunError(with_id("`" + path + "` cannot be read as a Zarr array: " + what, "bad-file"));
}

std::string tuple_text(ExtentSpan extents, const char* separator) {
  std::string text;
  for (const std::int64_t extent : extents) text += (text.empty() ? "" : separator) + std::to_string(extent);
  return text;
}

Extents extents_of(const JsonValue& object, const char* name, const std::string& path) {
  const JsonValue* const member = object.member(name);
  if (member == nullptr || member->items() == nullptr)
    no_zarr(path, std::string("its .zarray has no list `") + name + "`");
  Extents extents;
  for (const JsonValue& item : *member->items()) {
    const auto* const number = item.number();
    char* end = nullptr;
    errno = 0;
    const std::int64_t extent = number == nullptr ? -1 : std::strtoll(number->text.c_str(), &end, 10);
    if (extent < 0 || errno != 0 || *end != '\0')
      no_zarr(path, std::string("`") + name + "` in its .zarray is no list of extents");
    extents.push_back(extent);
  }
  return extents;
}

std::string string_of(const JsonValue& object, const char* name, const std::string& otherwise) {
  const JsonValue* const member = object.member(name);
  return member != nullptr && member->string() != nullptr ? *member->string() : otherwise;
}

/// 0 in two bytes, as the format has values of a type that NumPy lacks: in base64.
constexpr std::string_view kNoBytes = "AAA=";

std::string number_of(const JsonValue& value, const std::string& path) {
  const std::string text = value.number() != nullptr   ? value.number()->text
                           : value.string() != nullptr ? *value.string()
                                                       : "";
  if (text == kNoBytes) return "0";
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') no_zarr(path, "its fill value is not a number");
  return text;
}

/// A number as text; both parts of a complex number, which is a list, with a blank between them.
std::string fill_of(const JsonValue& object, const std::string& path) {
  const JsonValue* const fill = object.member("fill_value");
  if (fill == nullptr || fill->is_null()) return "0";
  if (fill->boolean() != nullptr) return *fill->boolean() ? "1" : "0";
  const JsonValue::Items* const parts = fill->items();
  if (parts != nullptr && parts->size() == 2)
    return number_of(parts->front(), path) + " " + number_of(parts->back(), path);
  return number_of(*fill, path);
}

/// True if a number is valid for the element type: any for floats, those in range for integers.
template <class T>
bool is_value_of(const std::string& text) {
  if (!kIsComplex<T> && text.find(' ') != std::string::npos) return false;
  if constexpr (!std::is_integral_v<T>) {
    return true;
  } else {
    if (std::is_same_v<T, bool>) return text == "0" || text == "1";
    const double value = std::strtod(text.c_str(), nullptr);
    if (!(value == std::floor(value))) return false;
    return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
           value < std::ldexp(1.0, std::numeric_limits<T>::digits);
  }
}

/// The fill value, converted to the file's type and then to the type read.
template <class To>
To filled(const ZarrLayout& layout) {
  To value{};
  visit_npy_type(layout.tile, [&](auto tag) {
    using From = typename decltype(tag)::type;
    const char* const text = layout.fill.c_str();
    const bool whole = layout.fill.find_first_not_of("-0123456789") == std::string::npos;
    if constexpr (kIsComplex<From>) {
      char* rest = nullptr;
      From number(std::strtod(text, &rest));
      number.im = static_cast<PartOf<From>>(std::strtod(rest, nullptr));
      value = widened<To>(number);
    } else if constexpr (std::is_same_v<From, std::uint64_t>) {
      value = widened<To>(whole ? std::strtoull(text, nullptr, 10) : static_cast<From>(std::strtod(text, nullptr)));
    } else if constexpr (!std::is_integral_v<From>) {
      value = widened<To>(static_cast<From>(std::strtod(text, nullptr)));
    } else {
      value = widened<To>(static_cast<From>(whole ? std::strtoll(text, nullptr, 10)
                                                  : static_cast<std::int64_t>(std::strtod(text, nullptr))));
    }
  });
  return value;
}

template <class To>
void fill_box(To* data, ExtentSpan extents, ExtentSpan strides, To value) {
  if (extents.empty()) {
    *data = value;
    return;
  }
  for (std::int64_t x = 0; x < extents[0]; ++x)
    fill_box(data + x * strides[0], extents.subspan(1), strides.subspan(1), value);
}

std::string tile_name(const TilePart& part, std::size_t rank, char separator) {
  const char text[] = {separator, '\0'};
  return rank == 0 ? "0" : tuple_text(ExtentSpan(part.tile).first(rank), text);
}

}  // namespace

ZarrLayout parse_zarray(std::string_view text, const std::string& path) {
  JsonValue head;
  try {
    head = parse_json(text);
  } catch (const std::runtime_error& error) { no_zarr(path, std::string(".zarray is ") + error.what()); }
  const JsonValue* const version = head.member("zarr_format");
  if (version == nullptr || version->number() == nullptr || version->number()->text != "2")
    no_zarr(path, "only version 2 of the format is supported");
  for (const char* name : {"compressor", "filters"}) {
    const JsonValue* const member = head.member(name);
    const bool none =
        member == nullptr || member->is_null() || (member->items() != nullptr && member->items()->empty());
    if (none) continue;
    const std::string id = string_of(*member, "id", "");
    no_zarr(path, std::string("its tiles are ") + (name[0] == 'c' ? "compressed" : "filtered") +
                      (id.empty() ? "" : " (" + id + ")") +
                      "; write it without: zarr.save_array(NAME, array, compressor=None)");
  }
  ZarrLayout layout;
  layout.shape = extents_of(head, "shape", path);
  const Extents tile = extents_of(head, "chunks", path);
  if (tile.size() != layout.shape.size() || std::ranges::find(tile, 0) != tile.end())
    no_zarr(path, "its chunks do not fit its shape");
  const std::string order = string_of(head, "order", "C");
  const std::string tuple = tuple_text(tile, ", ") + (tile.size() == 1 ? "," : "");
  // The dtype has the syntax of NumPy's headers.
  layout.tile = parse_npy_dictionary("{'descr': '" + string_of(head, "dtype", "?") + "', 'fortran_order': " +
                                         (order == "F" ? "True" : "False") + ", 'shape': (" + tuple + "), }",
                                     path);
  std::int64_t bytes = layout.tile.bytes;
  for (const std::int64_t extent : layout.shape) {
    if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      no_zarr(path, "it announces more elements than 64 bits can count");
  }
  layout.fill = fill_of(head, path);
  visit_npy_type(layout.tile, [&](auto tag) {
    if (!is_value_of<typename decltype(tag)::type>(layout.fill))
      no_zarr(path, "its fill value " + layout.fill + " is no value of its dtype");
  });
  layout.separator = string_of(head, "dimension_separator", ".") == "/" ? '/' : '.';
  return layout;
}

std::string zarray_text(ElementType type, ExtentSpan shape, ExtentSpan tile) {
  const auto list = [](ExtentSpan extents) { return "[" + tuple_text(extents, ", ") + "]"; };
  const std::string zero = type == ElementType::kBool   ? "false"
                           : type == ElementType::kBf16 ? '"' + std::string(kNoBytes) + '"'
                           : is_complex(type)           ? "[0.0, 0.0]"
                           : is_float(type)             ? "0.0"
                                                        : "0";
  return "{\n    \"chunks\": " + list(tile) + ",\n    \"compressor\": null,\n    \"dtype\": \"" + npy_descriptor(type) +
         "\",\n    \"fill_value\": " + zero +
         ",\n    \"filters\": null,\n    \"order\": \"C\",\n    \"shape\": " + list(shape) +
         ",\n    \"zarr_format\": 2\n}";
}

Extents zarr_tile(ElementType type, ExtentSpan shape, std::int64_t most) {
  Extents tile(shape.begin(), shape.end());
  for (std::int64_t& edge : tile) edge = std::max<std::int64_t>(edge, 1);
  const auto bytes = [&] {
    double all = static_cast<double>(element_size(type));
    for (const std::int64_t edge : tile) all *= static_cast<double>(edge);
    return all;
  };
  while (bytes() > static_cast<double>(most)) {
    std::int64_t& longest = *std::ranges::max_element(tile);
    longest = (longest + 1) / 2;
  }
  return tile;
}

namespace {

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

ZarrReader::ZarrReader(const std::string& path)
    : path_(without_slash(path)), head_([this] {
        if (::access(path_.c_str(), F_OK) == 0 && ::access((path_ + "/.zarray").c_str(), F_OK) != 0)
          no_zarr(path_, "there is no .zarray in it");
        return OpenFile(path_ + "/.zarray");
      }()) {
  std::error_code ignored;
  if (std::filesystem::file_size(path_ + "/.zarray", ignored) > kMostHeader && !ignored)
    no_zarr(path_, "its .zarray is longer than 1 MiB");
  layout_ = parse_zarray(read_text_file(path_ + "/.zarray"), path_);
}

void ZarrReader::read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const {
  const std::size_t rank = layout_.shape.size();
  TDSL_CHECK(lo.size() == rank && hi.size() == rank && strides.size() == rank,
             "a box has one entry per dimension of its file");
  for_each_tile(layout_.tile.shape, lo, hi, strides, [&](const TilePart& part) {
    const ExtentSpan part_lo = ExtentSpan(part.lo).first(rank), part_hi = ExtentSpan(part.hi).first(rank);
    const std::string path = path_ + "/" + tile_name(part, rank, layout_.separator);
    visit_element_type(to, [&](auto tag) {
      using To = typename decltype(tag)::type;
      To* const target = static_cast<To*>(dst) + part.offset;
      if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
        Extents extents(rank);
        for (std::size_t d = 0; d < rank; ++d) extents[d] = part_hi[d] - part_lo[d];
        fill_box<To>(target, extents, strides, filled<To>(layout_));
        return;
      }
      const OpenFile file(path);
      if (file.bytes() != layout_.tile_bytes()) {
        throw RunError("`" + path + "` has " + std::to_string(file.bytes()) + " bytes; a tile of this array has " +
                       std::to_string(layout_.tile_bytes()) + " [bad-file]");
      }
      read_dense(file.fd(), layout_.tile, path, to, part_lo, part_hi, target, strides);
    });
  });
  head_.require_unchanged();
}

WriteCount write_zarr_tiles(const std::string& folder, ElementType from, ExtentSpan tile, ExtentSpan lo, ExtentSpan hi,
                            const void* src, ExtentSpan strides, const std::function<void(const std::string&)>& wrote) {
  const auto bytes = static_cast<std::int64_t>(element_size(from));
  std::int64_t tile_bytes = bytes;
  for (const std::int64_t edge : tile) tile_bytes *= edge;
  const std::size_t rank = tile.size();
  WriteCount all;
  for_each_tile(tile, lo, hi, strides, [&](const TilePart& part) {
    const std::string name = tile_name(part, rank, '.');
    const std::string path = folder + "/" + name;
    // Any rank may be the first to extend the file to its full size; repeating it has no effect.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) fail_file(path, "cannot write", errno);
    const struct Closing {
      int fd;
      ~Closing() { ::close(fd); }
    } closing{fd};
    if (::ftruncate(fd, tile_bytes) != 0) fail_file(path, "cannot write", errno);
    const WriteCount count =
        write_dense(fd, tile, 0, path, from, ExtentSpan(part.lo).first(rank), ExtentSpan(part.hi).first(rank),
                    static_cast<const std::byte*>(src) + part.offset * bytes, strides);
    all.calls += count.calls;
    all.bytes += count.bytes;
    wrote(name);
  });
  return all;
}

void ZarrWriter::write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const {
  TDSL_CHECK(type_ == from && !temporary_.empty(), "an open array of the written type");
  count(write_zarr_tiles(temporary_, from, tile_, lo, hi, src, strides, [this](const std::string& name) {
    const std::scoped_lock lock(mutex_);
    written_.insert(name);
  }));
}

}  // namespace tdsl::rt
