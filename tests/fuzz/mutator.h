#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Small mutations of programs that leave most of a program valid, so that it gets far into the compiler.

namespace tdsl::tests {

/// A piece of a program's text. White space and comments are pieces too: concatenated, the pieces give the text.
struct Piece {
  enum class Kind : std::uint8_t { kBlank, kName, kInteger, kFloat, kString, kSign };
  Kind kind = Kind::kBlank;
  std::string text;
};
[[nodiscard]] std::vector<Piece> pieces_of(std::string_view program);

/// Applies one to three mutations: names are exchanged, or replaced by others of the program or the language; pieces
/// are removed, duplicated, exchanged or replaced; literals become special numbers; types change; statements are
/// removed, duplicated or moved. The same generator state gives the same text on every machine.
[[nodiscard]] std::string mutated(std::string_view program, std::mt19937_64& random);

}  // namespace tdsl::tests
