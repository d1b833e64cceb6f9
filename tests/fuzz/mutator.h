#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// Small mistakes in programs: the kind that leaves most of a program right, so that it comes far into the compiler.

namespace tdsl::tests {

/// A piece of a program's text. White space and comments are pieces, too: the pieces together are the text.
struct Piece {
  enum class Kind : std::uint8_t { kBlank, kName, kInteger, kFloat, kString, kSign };
  Kind kind = Kind::kBlank;
  std::string text;
};
[[nodiscard]] std::vector<Piece> pieces_of(std::string_view program);

/// Makes one to three changes: names are exchanged or replaced by others of the program or the language; pieces are
/// left out, doubled, exchanged or replaced; literals become special numbers; types change; statements are left out,
/// doubled or moved. The same generator state gives the same text on every machine.
[[nodiscard]] std::string mutated(std::string_view program, std::mt19937_64& random);

}  // namespace tdsl::tests
