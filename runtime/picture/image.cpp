#include "runtime/picture/image.h"

#include <zlib.h>

#include <span>

#include "runtime/check.h"

namespace tdsl::rt {

Image enlarged(const Image& image, std::int64_t down, std::int64_t across) {
  Image larger(image.width * across, image.height * down, kPaperColour);
  for (std::int64_t row = 0; row < larger.height; ++row) {
    for (std::int64_t column = 0; column < larger.width; ++column)
      larger.at(row, column) = image.at(row / down, column / across);
  }
  return larger;
}

namespace {

/// Four bytes, the most significant one first.
void put_number(std::string& to, std::uint64_t number) {
  for (const int shift : {24, 16, 8, 0}) to += static_cast<char>(static_cast<unsigned char>(number >> shift));
}

const Bytef* bytes_of(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

void put_chunk(std::string& to, std::string_view type, std::string_view contents) {
  put_number(to, contents.size());
  const std::string checked = std::string(type).append(contents);
  to += checked;
  put_number(to, ::crc32(0, bytes_of(checked), static_cast<uInt>(checked.size())));
}

std::string compressed_by_zlib(std::string_view text) {
  uLongf size = ::compressBound(static_cast<uLong>(text.size()));
  std::string result(size, '\0');
  const int code = ::compress2(reinterpret_cast<Bytef*>(result.data()), &size, bytes_of(text),
                               static_cast<uLong>(text.size()), Z_BEST_COMPRESSION);
  if (code != Z_OK) throw RunError("out of memory for a picture [out-of-memory]");
  result.resize(size);
  return result;
}

}  // namespace

std::string png_of(const Image& image, std::string_view description) {
  std::string rows;
  rows.reserve(static_cast<std::size_t>(image.height * (3 * image.width + 1)));
  for (std::int64_t row = 0; row < image.height; ++row) {
    rows += '\0';  // no filter
    for (std::int64_t column = 0; column < image.width; ++column) {
      for (const std::uint8_t part : image.at(row, column)) rows += static_cast<char>(part);
    }
  }
  std::string header;
  put_number(header, static_cast<std::uint64_t>(image.width));
  put_number(header, static_cast<std::uint64_t>(image.height));
  header += std::string("\x08\x02\0\0\0", 5);  // 8 bits, RGB
  std::string text("Description\0", 12);
  for (const char c : description) text += static_cast<unsigned char>(c) < 128 ? c : '?';
  std::string file("\x89PNG\r\n\x1a\n", 8);
  put_chunk(file, "IHDR", header);
  put_chunk(file, "tEXt", text);
  put_chunk(file, "IDAT", compressed_by_zlib(rows));
  put_chunk(file, "IEND", "");
  return file;
}

std::string half_blocks_of(const Image& image) {
  std::string text;
  const auto colour = [&text](std::string_view kind, const Colour& c) {
    text += "\033[" + std::string(kind) + ";2;" + std::to_string(c[0]) + ";" + std::to_string(c[1]) + ";" +
            std::to_string(c[2]) + "m";
  };
  for (std::int64_t row = 0; row < image.height; row += 2) {
    for (std::int64_t column = 0; column < image.width; ++column) {
      colour("38", image.at(row, column));
      if (row + 1 < image.height) colour("48", image.at(row + 1, column));
      text += "\u2580";
    }
    text += "\033[0m\n";
  }
  return text;
}

}  // namespace tdsl::rt
