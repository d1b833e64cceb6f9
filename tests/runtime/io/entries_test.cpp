#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/app/session/entry_memory.h"
#include "runtime/io/entries/entry_writer.h"
#include "runtime/io/entries/text_lines.h"
#include "runtime/io/entries/zip_archive.h"
#include "runtime/io/input_file.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;
using tdsl::tests::run_error_of;
using tdsl::tests::TemporaryFolder;

namespace {

using Extents = std::vector<std::int64_t>;

/// Coordinates and value of every entry, in file order.
template <class T>
struct Listed {
  Extents shape;
  std::vector<std::pair<Extents, T>> entries;
  friend bool operator==(const Listed&, const Listed&) = default;
};

/// The file, read in the given number of parts and concatenated.
template <class T>
Listed<T> list(const std::string& path, std::int64_t parts = 1) {
  const InputFile input(path);
  const EntryFile& file = *input.entries();
  file.require_type(element_type_of<T>, "A");
  std::vector<EntryFile::Part> read;
  std::vector<EntryFile::Tally> tallies;
  for (std::int64_t p = 0; p < parts; ++p) {
    read.push_back(file.read(element_type_of<T>, p, parts));
    tallies.push_back(read.back().tally);
  }
  Listed<T> result;
  for (std::int64_t p = 0; p < parts; ++p) {
    EntryFile::Part& part = read[static_cast<std::size_t>(p)];
    result.shape = file.settle(tallies, p, part);
    const EntryForm form = part.entries.form();
    part.entries.for_each([&](const std::byte* entry) {
      Extents at;
      for (int d = 0; d < form.rank; ++d) at.push_back(form.coordinate(entry, d));
      result.entries.emplace_back(at, form.template value<T>(entry));
    });
  }
  return result;
}

Listed<double> naive_matrix_market(const std::string& text) {
  const tdsl::tests::NaiveEntries found = tdsl::tests::read_matrix_market(text);
  return {found.shape, found.entries};
}

/// A valid file that uses the freedom of the format.
std::string random_matrix_market(std::mt19937& random) {
  const auto below = [&](std::int64_t n) { return std::uniform_int_distribution<std::int64_t>(0, n - 1)(random); };
  const bool coordinate = below(2) == 0;
  const std::string field =
      std::vector<std::string>{"real", "integer", "pattern"}[static_cast<std::size_t>(below(coordinate ? 3 : 2))];
  const std::string symmetry = std::vector<std::string>{
      "general", "symmetric", "skew-symmetric"}[static_cast<std::size_t>(below(field == "pattern" ? 2 : 3))];
  const std::string end = below(2) == 0 ? "\n" : "\r\n";
  const std::int64_t rows = below(9) + 1;
  const std::int64_t columns = symmetry == "general" ? below(9) + 1 : rows;
  const auto noise = [&] { return below(6) == 0 ? "  % note" + end : below(6) == 0 ? " \t" + end : std::string(); };
  const auto value = [&]() -> std::string {
    if (field == "integer") return std::to_string(below(2001) - 1000);
    const std::vector<std::string> some = {"0.1", "-2.5e-3", "+7", "1e300", "inf", "-0.0", "4.9406564584124654e-324",
                                           ".5",  "3."};
    return some[static_cast<std::size_t>(below(static_cast<std::int64_t>(some.size())))];
  };
  std::string text = "%%MatrixMarket matrix " + std::string(coordinate ? "coordinate " : "array ") + field + " " +
                     symmetry + end + noise();
  text += std::to_string(rows) + " " + std::to_string(columns);
  std::string data;
  std::int64_t count = 0;
  if (coordinate) {
    for (count = 0; count < below(40); ++count) {
      const std::int64_t i = below(rows) + 1;
      const std::int64_t j = below(columns) + 1;
      const bool zero = symmetry == "skew-symmetric" && i == j;
      data += noise() + " " + std::to_string(i) + "\t" + std::to_string(j) +
              (field == "pattern" ? "" : "  " + (zero ? "0" : value())) + end;
    }
    text += " " + std::to_string(count);
  } else {
    count = symmetry == "general"     ? rows * columns
            : symmetry == "symmetric" ? rows * (rows + 1) / 2
                                      : rows * (rows - 1) / 2;
    for (std::int64_t k = 0; k < count; ++k) data += noise() + value() + end;
  }
  text += end + data;
  if (below(3) == 0 && !data.empty()) text.erase(text.size() - end.size());  // the last line has no terminator
  return text;
}

std::string matrix_error(const TemporaryFolder& folder, const std::string& text, std::int64_t parts = 1) {
  const std::string path = folder.write("a.mtx", text);
  const std::string error = run_error_of([&] { (void)list<double>(path, parts); });
  return error.starts_with(path) ? error.substr(path.size()) : error;
}

}  // namespace

TEST_CASE("io entries: lines come once, whatever the ranges and the buffer") {
  const TemporaryFolder folder;
  const std::vector<std::string> expected = {"a", "", "bcd", "e f", "", "g"};
  const OpenFile file(folder.write("a.txt", "a\n\nbcd\r\ne f\n\ng"));
  for (std::int64_t parts = 1; parts <= file.bytes() + 3; ++parts) {
    for (const std::int64_t buffer : {6, 7, 100}) {
      std::vector<std::string> lines;
      for (std::int64_t p = 0; p < parts; ++p) {
        TextLines range(file, file.bytes() * p / parts, file.bytes() * (p + 1) / parts, buffer);
        std::string_view line;
        while (range.next(line)) lines.emplace_back(line);
      }
      CHECK(lines == expected);
    }
  }
  CHECK(run_error_of([&] {
          TextLines range(file, 0, file.bytes(), 4);
          std::string_view line;
          while (range.next(line)) {}
        }) == file.path() + ":3: a line of more than 4 bytes");
}

TEST_CASE("io entries: Matrix Market as a naive reader reads it, in any number of parts") {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (int k = 0; k < 400; ++k) {
    const std::string text = random_matrix_market(random);
    CAPTURE(text);
    const std::string path = folder.write("a.mtx", text);
    const Listed<double> expected = naive_matrix_market(text);
    for (const std::int64_t parts : {1, 2, 3, 7, 50}) CHECK(list<double>(path, parts) == expected);
  }
}

TEST_CASE("io entries: element types of Matrix Market") {
  const TemporaryFolder folder;
  const std::string head = "%%MatrixMarket matrix coordinate ";
  const std::string real = folder.write("real.mtx", head + "real general\n1 1 1\n1 1 0.1\n");
  const std::string integer = folder.write("integer.mtx", head + "integer general\n1 1 1\n1 1 9007199254740993\n");
  const std::string pattern = folder.write("pattern.mtx", head + "pattern general\n1 1 1\n1 1\n");
  CHECK(list<float>(real).entries.at(0).second == 0.1F);
  CHECK(list<std::int64_t>(integer).entries.at(0).second == 9007199254740993);
  CHECK(list<double>(integer).entries.at(0).second == 9007199254740992.0);
  CHECK(list<bool>(pattern).entries.at(0).second);
  CHECK(list<std::int32_t>(pattern).entries.at(0).second == 1);
  CHECK(run_error_of([&] { (void)list<std::int32_t>(integer); }) ==
        integer + ":3: `9007199254740993` does not fit into i32");
  CHECK(run_error_of([&] { (void)list<std::int64_t>(real); }) ==
        "input A is declared i64, but `" + real +
            "` holds real numbers, which do not widen to it; convert the file or declare a wider type");
  CHECK(run_error_of([&] { (void)list<bool>(integer); }).starts_with("input A is declared bool"));
}

TEST_CASE("io entries: complex numbers of Matrix Market") {
  using Number = Complex<double>;
  const TemporaryFolder folder;
  const std::string head = "%%MatrixMarket matrix ";
  const std::string hermitian =
      folder.write("h.mtx", head + "coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 0.5 -2e1\n");
  CHECK(list<Number>(hermitian).entries ==
        std::vector<std::pair<Extents, Number>>{{{0, 0}, {3, 0}}, {{1, 0}, {0.5, -20}}, {{0, 1}, {0.5, 20}}});
  const std::string array = folder.write("a.mtx", head + "array complex general\n1 2\n1 2\n3 -4\n");
  CHECK(list<Complex<float>>(array, 2).entries.at(1).second == Complex<float>(3, -4));
  const std::string real = folder.write("r.mtx", head + "coordinate real skew-symmetric\n2 2 1\n2 1 1.5\n");
  CHECK(list<Number>(real).entries.at(1).second == Number(-1.5, 0));
  CHECK(run_error_of([&] { (void)list<double>(hermitian); }).starts_with("input A is declared f64, but"));
  const std::string bad = folder.write("b.mtx", head + "coordinate complex hermitian\n1 1 1\n1 1 1 2\n");
  CHECK(run_error_of([&] { (void)list<Number>(bad); }) ==
        bad + ":3: a Hermitian matrix has real numbers on its diagonal");
  const std::string short_line = folder.write("s.mtx", head + "coordinate complex general\n1 1 1\n1 1 1\n");
  CHECK(run_error_of([&] { (void)list<Number>(short_line); }) == short_line + ":3: expected a number, the line ends");
}

TEST_CASE("io entries: errors in a Matrix Market file name the line") {
  const TemporaryFolder folder;
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  for (const std::int64_t parts : {1, 3}) {
    const auto error = [&](const std::string& text) { return matrix_error(folder, text, parts); };
    CHECK(error("") == ":1: the file is empty");
    CHECK(error("1 1 1\n") == ":1: this is not a Matrix Market file: it does not begin with %%MatrixMarket");
    CHECK(error("%%MatrixMarket matrix coordinate rational general\n") ==
          ":1: the field is `rational`, not `real`, `complex`, `integer` or `pattern`");
    CHECK(error("%%MatrixMarket matrix coordinate real hermitian\n") ==
          ":1: the symmetry is `hermitian`, not `general`, `symmetric` or `skew-symmetric`");
    CHECK(error(head + "% only\n% notes\n") == ":4: the file ends before the line with its sizes");
    CHECK(error(head + "3 3\n") == ":2: expected the numbers of rows, columns and entries");
    CHECK(error(head + "3 -3 0\n") == ":2: expected the numbers of rows, columns and entries");
    CHECK(error(head + "3 99999999999999999999 0\n") == ":2: expected the numbers of rows, columns and entries");
    CHECK(error(head + "3 3 2\n1 1 5\n") == ":2: the header announces 2 entries, the file has 1");
    CHECK(error(head + "\n3 3 900000000000000000\n1 1 5\n") ==
          ":3: the header announces 900000000000000000 entries, the file has 1");
    CHECK(error(head + "3 3 1\n1 1 5\n1 2 5\n") == ":2: the header announces 1 entries, the file has 2");
    CHECK(error(head + "3 3 2\n1 1 5\n\n%\n4 1 5\n") == ":6: row 4 is not one of 1 to 3");
    CHECK(error(head + "3 3 2\r\n1 1 5\r\n1 0 5\r\n") == ":4: column 0 is not one of 1 to 3");
    CHECK(error(head + "3 3 1\n1 1\n") == ":3: expected a number, the line ends");
    CHECK(error(head + "3 3 1\n1 1 x\x1b[1m\n") == ":3: expected a number, found `x\\x1b[1m`");
    CHECK(error(head + "3 3 1\n1 1 5 5\n") == ":3: text after the entry: `5`");
    CHECK(error(head + "3 3 1\n1 1 1e999\n") == ":3: `1e999` does not fit into f64");
    CHECK(error(head + "3 3 1\n1 1 1e-999\n") == "no error");
    CHECK(error("%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1\n") ==
          ":3: a skew-symmetric matrix has zeros on its diagonal");
    CHECK(error("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n2 2 1\n") ==
          ":2: a symmetric matrix is square, this one is 3 by 4");
    CHECK(error("%%MatrixMarket matrix array real general\n2 1\n5\n") ==
          ":2: a matrix of this shape has 2 values, the file has 1");
    CHECK(error("%%MatrixMarket matrix array real general\n900000000000000000 900000000000000000\n5\n") ==
          ":2: a matrix of this shape has 9223372036854775807 values, the file has 1");
    CHECK(error("%%MatrixMarket matrix array real general\n0 900000000000000000\n") == "no error");
    CHECK(error(head + "900000000000000000 3 1\n900000000000000000 1 5\n") == "no error");
  }
}

TEST_CASE("io entries: coordinates beyond 32 bits, duplicates, and a dense reading") {
  const TemporaryFolder folder;
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const std::int64_t far = (std::int64_t{1} << 32) + 1;
  const std::string wide =
      folder.write("wide.mtx", head + std::to_string(far) + " 1 1\n" + std::to_string(far) + " 1 5\n");
  CHECK(list<double>(wide) == Listed<double>{{far, 1}, {{{far - 1, 0}, 5.0}}});
  const std::string twice = folder.write("twice.mtx", head + "2 2 4\n1 2 1e16\n1 2 1\n1 2 -1e16\n2 2 -0.0\n");
  std::vector<double> elements;
  const Extents shape = read_dense<double>(InputFile(twice), [&](const Extents& s) {
    elements.resize(static_cast<std::size_t>(s[0] * s[1]));
    return elements.data();
  });
  CHECK(shape == Extents{2, 2});
  CHECK(elements == std::vector<double>{0, (1e16 + 1) - 1e16, 0, 0});
  CHECK(!std::signbit(elements[3]));
  Entries narrow = read_whole(*InputFile(twice).entries(), ElementType::kF64).second;
  narrow.widen();
  CHECK(narrow.form().bytes() == 24);
  std::vector<Extents> at;
  narrow.for_each([&](const std::byte* entry) {
    at.push_back({narrow.form().coordinate(entry, 0), narrow.form().coordinate(entry, 1)});
  });
  CHECK(at == std::vector<Extents>{{0, 1}, {0, 1}, {0, 1}, {1, 1}});
}

TEST_CASE("io entries: what does not fit is counted, and takes the memory of a piece") {
  const TemporaryFolder folder;
  std::string matrix = "%%MatrixMarket matrix coordinate real symmetric\n9 9 9\n", tensor, table;
  for (int k = 1; k <= 9; ++k) {
    matrix += std::to_string(k) + " 1 0.5\n";
    tensor +=
        "1 " + std::to_string(k == 6 ? (std::int64_t{1} << 40) : k) + " 0.5\n";  // entries become wider in the middle
    table += std::to_string(k) + ",1\n";
  }
  const std::vector<std::pair<std::string, std::int64_t>> files = {
      {folder.write("m.mtx", matrix), 17}, {folder.write("t.tns", tensor), 9}, {folder.write("c.csv", table), 18}};
  for (const auto& [path, count] : files) {
    InputFile file(path);
    const auto read = [&](std::int64_t bytes) {
      file.keep_at_most(bytes);
      return file.entries()->read(ElementType::kF64, 0, 1).entries;
    };
    const Entries all = read(0);
    CHECK(all.count() == count);
    CHECK(all.complete());
    for (const std::int64_t bytes :
         {std::int64_t{1}, std::int64_t{40}, all.bytes() - 16, all.bytes(), all.bytes() + 1}) {
      INFO(path << ", " << bytes << " bytes");
      const Entries some = read(bytes);
      CHECK(some.count() == count);
      CHECK(some.bytes() == all.bytes());
      CHECK(some.complete() == (bytes >= all.bytes()));
      CHECK(some.chunks().size() <= 2);
    }
  }
  // The second of two files may use the memory left by the first, with another copy of the larger one.
  EntryMemory memory(1000);
  CHECK(memory.room() == 500);
  memory.add(300, true);
  CHECK(memory.room() == 350);
  memory.add(350, true);
  CHECK(memory.least() == 1000);
  CHECK(memory.room() == 1);
  EntryMemory small(1000);
  small.add(600, false);
  CHECK(small.room() == 1);
  small.add(100, false);
  CHECK(small.least() == 1300);
  CHECK(EntryMemory(0).room() == 0);
}

TEST_CASE("io entries: FROSTT files, their shapes and errors") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tns", "# note\n\n1 2 3 0.5\r\n4 1 1 -2\n1 2 3 0.25");
  const Listed<double> expected{{4, 2, 3}, {{{0, 1, 2}, 0.5}, {{3, 0, 0}, -2.0}, {{0, 1, 2}, 0.25}}};
  for (const std::int64_t parts : {1, 2, 5, 40}) CHECK(list<double>(path, parts) == expected);
  const std::int64_t far = (std::int64_t{1} << 40);
  const std::string wide = folder.write("w.tns", "1 1 2\n2 " + std::to_string(far) + " 3\n1 2 4\n");
  const Listed<std::int64_t> listed{{2, far}, {{{0, 0}, 2}, {{1, far - 1}, 3}, {{0, 1}, 4}}};
  for (const std::int64_t parts : {1, 2, 3}) CHECK(list<std::int64_t>(wide, parts) == listed);
  const auto error = [&](const std::string& text, auto value) {
    const std::string file = folder.write("b.tns", text);
    const std::string message = run_error_of([&] { (void)list<decltype(value)>(file, 2); });
    return message.starts_with(file) ? message.substr(file.size()) : message;
  };
  CHECK(error("# nothing\n", 1.0) ==
        ":1: the file has no entries, so that nothing says how many dimensions it has; a first line `# tdsl shape 4 3` "
        "would say its shape");
  CHECK(error("5\n", 1.0) == ":1: expected subscripts and a value");
  CHECK(error("1 1 1 1 1 1 1 1 1 1\n", 1.0) == ":1: tensors have at most 8 dimensions");
  CHECK(error("1 1 5\n0 1 5\n", 1.0) == ":2: expected subscript 1 of 2, from 1 on, found `0`");
  CHECK(error("1 1 5\n1 1\n", 1.0) == ":2: expected a number, the line ends");
  CHECK(error("1 1 5\n1 1 1 5\n", 1.0) == ":2: the first entry has 2 subscripts, this one has more");
  CHECK(error("1 1 5.5\n", std::int32_t{1}) == ":1: expected an integer, found `5.5`");
  CHECK(error("1 1 2\n", true) == ":1: expected 1, which is true, found `2`");
  CHECK(error("1 1 \xe2\x88\x92"
              "5\xff\n",
              1.0) ==
        ":1: expected a number, found `\xe2\x88\x92"
        "5\\xff`");
}

TEST_CASE("io entries: a FROSTT file may say its shape, and lines may end with comments") {
  const TemporaryFolder folder;
  const std::string shaped = folder.write("s.tns", "# tdsl shape 4 2 5\r\n1 2 3 0.5 # half\n# note\n4 1 1 -2#3\n");
  CHECK(run_error_of([&] { (void)list<double>(shaped); }) == shaped + ":4: expected a number, found `-2#3`");
  const std::string path = folder.write("a.tns", "# tdsl shape 4 2 5\r\n1 2 3 0.5 # half\n# note\n4 1 1 -2\t#\n");
  const Listed<double> expected{{4, 2, 5}, {{{0, 1, 2}, 0.5}, {{3, 0, 0}, -2.0}}};
  for (const std::int64_t parts : {1, 2, 5, 40}) CHECK(list<double>(path, parts) == expected);
  CHECK(InputFile(path).shape() == Extents{4, 2, 5});
  const std::string none = folder.write("none.tns", "# tdsl shape 3 0\n");
  for (const std::int64_t parts : {1, 3}) CHECK(list<double>(none, parts) == Listed<double>{{3, 0}, {}});
  const std::string later = folder.write("later.tns", "# note\n# tdsl shape 9 9\n1 2 5 # 1 1\n");
  CHECK(list<double>(later, 2) == Listed<double>{{1, 2}, {{{0, 1}, 5.0}}});
  CHECK(!InputFile(later).shape());
  const auto error = [&](const std::string& text) {
    const std::string file = folder.write("b.tns", text);
    const std::string message = run_error_of([&] { (void)list<double>(file, 3); });
    return message.starts_with(file) ? message.substr(file.size()) : message;
  };
  CHECK(error("# tdsl shape\n1 1 5\n") == ":1: expected the 1 to 8 extents of the shape");
  CHECK(error("# tdsl shape 1 1 1 1 1 1 1 1 1\n") == ":1: expected the 1 to 8 extents of the shape");
  CHECK(error("# tdsl shape 3 -1\n") == ":1: expected an extent of the shape, found `-1`");
  CHECK(error("# tdsl shape 3 2\n1 1 5\n1 3 5\n") ==
        ":3: subscript 2 is 3, but the shape in the first line has 2 there");
  CHECK(error("# tdsl shape 3 2\n1 1 1 5\n") == ":2: the shape has 2 extents, this one has more");
}

TEST_CASE("io entries: values of Matrix Market arrays keep their sign, also of 0, in dense tensors") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n-0.0\n0\n-0\n3\n");
  std::vector<double> elements(4);
  (void)read_dense<double>(InputFile(path), [&](const Extents&) { return elements.data(); });
  CHECK(elements == std::vector<double>{0, 0, 0, 3});
  CHECK(std::signbit(elements[0]));
  CHECK(std::signbit(elements[1]));
  CHECK(!std::signbit(elements[2]));
  const std::string skew = folder.write("s.mtx", "%%MatrixMarket matrix array real skew-symmetric\n2 2\n0\n");
  (void)read_dense<double>(InputFile(skew), [&](const Extents&) { return elements.data(); });
  CHECK(!std::signbit(elements[1]));
  CHECK(!std::signbit(elements[2]));
}

TEST_CASE("io entries: every byte of an archive's arrays counts in a checksum, in any number of parts") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> shape = {5, 4};
  std::vector<double> elements(20);
  for (std::size_t k = 0; k < elements.size(); k += 3) elements[k] = 1.0 + static_cast<double>(k);
  const std::string path = folder / "a.npz";
  const auto writer = EntryWriter::create(path, ElementType::kF64, shape);
  write_entries(*writer, nonzeros<double>(shape, elements));
  writer->file().commit();
  const std::string whole = folder.read("a.npz");
  const OpenFile file(path);
  for (const ZipMember& member : zip_members(file)) {
    const auto end = static_cast<std::size_t>(member.local_offset + 50 + static_cast<std::int64_t>(member.name.size()) +
                                              member.bytes);
    // Flips the last bit of the last value: in shapes and pointers this gives an invalid number; elsewhere only the
    // checksum detects it.
    const bool checked_alone = member.name == "data.npy" || member.name == "format.npy";
    for (const std::size_t from_end : {std::size_t{1}, std::size_t{8}}) {
      std::string damaged = whole;
      const std::size_t at = member.name == "format.npy" ? end - 4 : end - from_end;  // a blank in its header
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      const std::string bad = folder.write("b.npz", damaged);
      CAPTURE(member.name);
      for (const std::int64_t parts : {1, 2, 3, 7, 30}) {
        const std::string error = run_error_of([&] { (void)list<double>(bad, parts); });
        CHECK(error.find("b.npz`") != std::string::npos);
        if (checked_alone && member.name == "data.npy")
          CHECK(error == "`" + bad + "`: data.npy: its checksum is wrong: the file is damaged");
      }
    }
  }
}

TEST_CASE("io entries: a file with the wrong extension is refused with its actual format") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& name, const std::string& content) {
    const std::string file = folder.write(name, content);
    const std::string message = run_error_of([&] { (void)InputFile(file); });
    return message.starts_with("`" + file + "`") ? message.substr(file.size() + 2) : message;
  };
  const std::string hdf5 = "\x89HDF\r\n\x1a\n and more";
  CHECK(error("a.npy", hdf5) == " is an HDF5 file (.h5), not the .npy file that its name says");
  CHECK(error("a.mtx", hdf5) == " is an HDF5 file (.h5), not the .mtx file that its name says");
  CHECK(error("a.mtx", "\x1f\x8b\x08 packed") == " is compressed with gzip, not the .mtx file that its name says");
  CHECK(error("a.tns", "%%MatrixMarket matrix\n") ==
        " is a Matrix Market file (.mtx), not the .tns file that its name says");
  CHECK(error("a.npz", "\x93NUMPY\x01") == " is a NumPy array (.npy), not the .npz file that its name says");
  CHECK(error("a.tns", std::string("1 2 3\n\0\0", 8)) ==
        " is binary, not a text, not the .tns file that its name says");
  const std::string other =
      ", and its extension names no other kind: .mtx, .tns, .npz, .csv and .h5, in lower case, do";
  CHECK(error("A.MTX", "%%MatrixMarket matrix\n") == " is a Matrix Market file (.mtx)" + other);
  CHECK(error("a.txt", "1 2 3\n") == " is not a .npy file" + other);
  CHECK(error("a", "1 2 3\n") == " is not a .npy file" + other);
}

TEST_CASE("io entries: written files read back, and do not depend on the number of writers") {
  const TemporaryFolder folder;
  std::mt19937 random(3);
  const std::vector<std::int64_t> shape = {7, 5};
  const auto check = [&](auto tag, const std::string& extension) {
    using T = decltype(tag);
    std::unique_ptr<T[]> elements(new T[35]());
    for (int k = 0; k < 35; ++k) {
      if (random() % 3 == 0)
        elements[static_cast<std::size_t>(k)] =
            static_cast<T>(1.0 / (1.0 + static_cast<double>(random() % 97)) + (std::is_integral_v<T> ? 5 : 0));
    }
    for (std::size_t k = 30; k < 35; ++k) elements[k] = T(0);  // the last row is empty
    std::string first;
    for (const std::int64_t ranks : {1, 2, 3, 9}) {
      const std::string path = folder / ("w" + std::to_string(ranks) + extension);
      std::vector<std::unique_ptr<EntryWriter>> writers;
      writers.push_back(EntryWriter::create(path, element_type_of<T>, shape));
      for (std::int64_t r = 1; r < ranks; ++r) writers.push_back(EntryWriter::open(writers[0]->token()));
      std::vector<EntryWriter::Numbers> one, two;
      for (std::int64_t r = 0; r < ranks; ++r) {
        const EntryWriter::Rows rows{7 * r / ranks, 7 * (r + 1) / ranks};
        const Entries all = nonzeros<T>(shape, {elements.get(), 35});
        Entries mine(all.form());
        all.for_each([&](const std::byte* entry) {
          const std::int64_t row = all.form().coordinate(entry, 0);
          if (row >= rows.first && row < rows.last) std::memcpy(mine.append(), entry, all.form().bytes());
        });
        one.push_back(writers[static_cast<std::size_t>(r)]->take(sorted(mine), rows));
      }
      for (std::int64_t r = 0; r < ranks; ++r) two.push_back(writers[static_cast<std::size_t>(r)]->write(one, r));
      writers[0]->finish(two);
      writers[0]->file().commit();
      const std::string content = folder.read("w" + std::to_string(ranks) + extension);
      if (first.empty()) first = content;
      CHECK(content == first);
      std::unique_ptr<T[]> read(new T[35]());
      CHECK(read_dense<T>(InputFile(path), [&](const Extents&) { return read.get(); }) == shape);
      CHECK(std::equal(read.get(), read.get() + 35, elements.get()));
      if (extension != ".npz") CHECK(list<T>(path, 3) == list<T>(path));
    }
    const std::unique_ptr<EntryWriter> empty =
        EntryWriter::create(folder / ("none" + extension), element_type_of<T>, shape);
    write_entries(*empty, Entries({2, element_type_of<T>}));
    empty->file().commit();
    CHECK(list<T>(folder / ("none" + extension)) == Listed<T>{shape, {}});
  };
  for (const std::string extension : {".mtx", ".tns", ".npz"}) {
    check(double{}, extension);
    check(float{}, extension);
    check(std::int32_t{}, extension);
    check(std::int64_t{}, extension);
    check(bool{}, extension);
  }
}

TEST_CASE("io entries: files that once broke a promise") {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(TDSL_SOURCE_DIR) / "tests" /
                                                              "fuzz" / "corpus_readers")) {
    CAPTURE(file.path().string());
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(stream), {}};
    CHECK_NOTHROW(tdsl::tests::check_reader_input(content));
    ++files;
  }
  CHECK(files > 0);
}

TEST_CASE("io entries: damaged files of every kind give an error or the entries of a naive reader") {
  const TemporaryFolder folder;
  std::mt19937 random(static_cast<unsigned>(41));
  const std::vector<std::int64_t> shape = {3, 4};
  const double elements[12] = {0, 1, 0, 2.5, 0, 0, -3, 0, 0, 0, 0, 1e-3};
  const std::string npz_path = folder / "seed.npz";
  const auto writer = EntryWriter::create(npz_path, ElementType::kF64, shape);
  write_entries(*writer, nonzeros<double>(shape, elements));
  writer->file().commit();
  const std::string npz = folder.read("seed.npz");
  const auto damage = [&](std::string text) {
    for (unsigned n = random() % 4; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 5) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        case 2: text.insert(at, text.substr(random() % text.size(), 1 + random() % 9)); break;
        case 3:
          text.insert(at, std::vector<std::string>{"\n", "\r\n", " ", "9999999999999999999", "e", "-", "%",
                                                   "nan"}[random() % 8]);
          break;
        default: text.resize(at); break;
      }
    }
    return text;
  };
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    CHECK_NOTHROW(tdsl::tests::check_reader(damage(random_matrix_market(random)), ".mtx"));
    CHECK_NOTHROW(tdsl::tests::check_reader(damage("1 2 3 0.5\n4 1 1 -2\n# x\n1 2 3 0.25\n"), ".tns"));
    CHECK_NOTHROW(tdsl::tests::check_reader(damage(npz), ".npz"));
  }
}
