#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/input_file.h"
#include "tests/fuzz/csv_fuzz.h"
#include "tests/fuzz/naive_entries.h"

// Checks properties of the readers for every file of entries: they give a tensor or a single error that names the file;
// the same entries for every number of parts; and, for Matrix Market and comma-separated values, those of a naive
// reader.

namespace tdsl::tests {

/// Reads valid Matrix Market files literally by their specification, without regard to speed.
inline NaiveEntries read_matrix_market(const std::string& text) {
  std::istringstream file(text);
  std::string line, word, format, field, symmetry;
  std::getline(file, line);
  std::istringstream(line) >> word >> word >> format >> field >> symmetry;
  NaiveEntries result;
  std::int64_t rows = -1, columns = 0, i = 1, j = 1;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    if (!(fields >> word) || word[0] == '%') continue;
    fields = std::istringstream(line);
    if (rows < 0) {
      fields >> rows >> columns;
      result.shape = {rows, columns};
      if (symmetry == "skew-symmetric") ++i;
      continue;
    }
    if (format == "coordinate") fields >> i >> j;
    std::string number = "1";
    if (field != "pattern") fields >> number;
    const double value = std::strtod(number.c_str(), nullptr);
    result.entries.push_back({{i - 1, j - 1}, value});
    if (symmetry != "general" && i != j)
      result.entries.push_back({{j - 1, i - 1}, symmetry == "symmetric" ? value : -value});
    if (format == "array" && ++i > rows) {
      ++j;
      i = symmetry == "general" ? 1 : symmetry == "symmetric" ? j : j + 1;
    }
  }
  return result;
}

/// A reader's result: the entries in order, or an error.
inline std::optional<NaiveEntries> read_in_parts(const std::string& path, std::int64_t parts) {
  NaiveEntries result;
  try {
    const rt::InputFile input(path);
    const rt::EntryFile& file = *input.entries();
    file.require_type(rt::ElementType::kF64, "A");
    std::vector<rt::EntryFile::Part> read;
    std::vector<rt::EntryFile::Tally> tallies;
    for (std::int64_t p = 0; p < parts; ++p) {
      read.push_back(file.read(rt::ElementType::kF64, p, parts));
      tallies.push_back(read.back().tally);
    }
    for (std::int64_t p = 0; p < parts; ++p) {
      rt::EntryFile::Part& part = read[static_cast<std::size_t>(p)];
      result.shape = file.settle(tallies, p, part);
      const rt::EntryForm form = part.entries.form();
      part.entries.for_each([&](const std::byte* entry) {
        std::vector<std::int64_t> at;
        for (int d = 0; d < form.rank; ++d) at.push_back(form.coordinate(entry, d));
        result.entries.emplace_back(std::move(at), form.value<double>(entry));
      });
    }
    return result;
  } catch (const rt::RunError& error) {
    if (std::string(error.what()).find(path) == std::string::npos)
      throw std::logic_error("an error does not name the file: " + std::string(error.what()));
    return std::nullopt;
  }
}

inline void require_equal(const NaiveEntries& a, const NaiveEntries& b, const std::string& what) {
  bool equal = a.shape == b.shape && a.entries.size() == b.entries.size();
  for (std::size_t k = 0; equal && k < a.entries.size(); ++k) {
    const double x = a.entries[k].second;
    const double y = b.entries[k].second;
    equal = a.entries[k].first == b.entries[k].first && (x == y || (std::isnan(x) && std::isnan(y)));
  }
  if (!equal) throw std::logic_error("entries differ: " + what);
}

/// `extension`: .mtx, .tns, .npz or .csv. Throws logic_error on failure.
inline void check_reader(const std::string& content, const std::string& extension) {
  static const std::string folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  const std::string path = folder + "/tdsl-reader-" + std::to_string(::getpid()) + extension;
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  const std::optional<NaiveEntries> whole = read_in_parts(path, 1);
  for (const std::int64_t parts : {2, 5}) {
    const std::optional<NaiveEntries> cut = read_in_parts(path, parts);
    if (cut.has_value() != whole.has_value())
      throw std::logic_error("one part and several do not agree whether the file is right");
    if (cut) require_equal(*whole, *cut, std::to_string(parts) + " parts");
  }
  if (whole && extension == ".mtx") require_equal(*whole, read_matrix_market(content), "naive reader");
  if (whole && extension == ".csv") require_equal(*whole, read_csv(content), "naive reader");
  ::unlink(path.c_str());
}

/// The first byte selects the format of the rest.
inline void check_reader_input(const std::string& input) {
  static const char* const kExtensions[] = {".mtx", ".tns", ".npz", ".csv"};
  if (!input.empty()) check_reader(input.substr(1), kExtensions[static_cast<unsigned char>(input[0]) % 4]);
}

}  // namespace tdsl::tests
