#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/io/entries/csv.h"
#include "runtime/io/entries/entry_writer.h"
#include "runtime/io/input_file.h"
#include "tests/fuzz/reader_fuzz.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;
using tdsl::tests::run_error_of;
using tdsl::tests::TemporaryFolder;

namespace {

using Extents = std::vector<std::int64_t>;

/// The file, read in the given number of parts, as one array.
template <class T>
std::pair<Extents, std::vector<T>> csv_array(const std::string& path, std::int64_t parts = 1) {
  const InputFile input(path);
  const EntryFile& file = *input.entries();
  std::vector<EntryFile::Part> read;
  std::vector<EntryFile::Tally> tallies;
  for (std::int64_t p = 0; p < parts; ++p) {
    read.push_back(file.read(element_type_of<T>, p, parts));
    tallies.push_back(read.back().tally);
  }
  Extents shape;
  for (std::int64_t p = 0; p < parts; ++p) shape = file.settle(tallies, p, read[static_cast<std::size_t>(p)]);
  const std::size_t columns = shape.size() == 1 ? 1 : static_cast<std::size_t>(shape[1]);
  std::vector<T> elements(static_cast<std::size_t>(shape[0]) * columns);
  for (const EntryFile::Part& part : read) {
    const EntryForm form = part.entries.form();
    part.entries.for_each([&](const std::byte* entry) {
      const auto row = static_cast<std::size_t>(form.coordinate(entry, 0));
      const auto column = form.rank == 1 ? 0 : static_cast<std::size_t>(form.coordinate(entry, 1));
      elements.at(row * columns + column) = form.template value<T>(entry);
    });
  }
  return {shape, elements};
}

template <class T>
std::string csv_error(const std::string& path) {
  return run_error_of([&] { static_cast<void>(csv_array<T>(path)); });
}

std::vector<bool> as_bools(std::vector<bool> v) { return v; }

}  // namespace

TEST_CASE("csv: a column by its name, as any type that its fields are") {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "t.csv", "id,\"unit, price\",\"a \"\"b\"\"\",sold\r\n1,2.5,x,true\r\n\r\n3, \"-1e3\" ,\"y,z\",0\r\n5,,w,False");
  for (const std::int64_t parts : {1, 2, 3, 7}) {
    CAPTURE(parts);
    CHECK(csv_array<std::int64_t>(path + ":id", parts) == std::pair{Extents{3}, std::vector<std::int64_t>{1, 3, 5}});
    CHECK(csv_array<std::int32_t>(path + ":id", parts).second == std::vector<std::int32_t>{1, 3, 5});
    CHECK(csv_array<float>(path + ":id", parts).second == std::vector<float>{1, 3, 5});
    const auto [shape, price] = csv_array<double>(path + ":unit, price", parts);
    CHECK(price[0] == 2.5);
    CHECK(price[1] == -1e3);
    CHECK(std::isnan(price[2]));
    CHECK(as_bools(csv_array<bool>(path + ":sold", parts).second) == std::vector<bool>{true, false, false});
  }
}

TEST_CASE("csv: the shape is found by reading values of the declared type") {
  const TemporaryFolder folder;
  const InputFile matrix(folder.write("b.csv", "c0,c1\ntrue,false\nfalse,1\n0,0\n"));
  CHECK(find_shape(*matrix.entries(), ElementType::kBool) == Extents{3, 2});
  const InputFile column(folder / "b.csv" + ":c1");
  CHECK(find_shape(*column.entries(), ElementType::kBool) == Extents{3});
}

TEST_CASE("csv: a file of numbers is a matrix, of one column a vector") {
  const TemporaryFolder folder;
  CHECK(csv_array<double>(folder.write("m.csv", "1,2\n3,4\n5,6\n"), 2) ==
        std::pair{Extents{3, 2}, std::vector<double>{1, 2, 3, 4, 5, 6}});
  CHECK(csv_array<double>(folder.write("named.csv",
                                       "\xef\xbb\xbf"
                                       "a,b\n3,4\n")) == std::pair{Extents{1, 2}, std::vector<double>{3, 4}});
  CHECK(csv_array<double>(folder.write("mark.csv",
                                       "\xef\xbb\xbf"
                                       "1,2\n3,4\n"),
                          3) == std::pair{Extents{2, 2}, std::vector<double>{1, 2, 3, 4}});
  CHECK(csv_array<std::int64_t>(folder.write("v.csv", "\n7\n8\n")) ==
        std::pair{Extents{2}, std::vector<std::int64_t>{7, 8}});
  CHECK(csv_array<double>(folder.write("head.csv", "x\n")) == std::pair{Extents{0}, std::vector<double>{}});
  // Years are column names if a column is requested.
  CHECK(csv_array<std::int64_t>(folder.write("years.csv", "2019,2020\n1,2\n") + ":2020").second ==
        std::vector<std::int64_t>{2});
}

TEST_CASE("csv: mistakes name the line") {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "a,b,b\n1,x,2\n\n3,4,5.5\n99999999999,1,1\n");
  CHECK(csv_error<double>(path) == path + ":2: field 2 is `x`, not a number");
  CHECK(csv_error<double>(path + ":c") == path + ":1: there is no column `c`; the first line names `a`, `b`, `b`");
  CHECK(csv_error<double>(path + ":b") == path + ":1: more than one column is called `b`");
  CHECK(csv_error<std::int32_t>(path + ":a") == path + ":5: field 1 is `99999999999`, which does not fit into i32");
  CHECK(csv_error<std::int64_t>(folder.write("i.csv", "1,2\n3,4.5\n")) ==
        folder / "i.csv" + ":2: field 2 is `4.5`, not an integer");
  CHECK(csv_error<std::int64_t>(folder.write("e.csv", "1,2\n3,\n")) ==
        folder / "e.csv" + ":2: field 2 is empty, not an integer");
  CHECK(csv_error<bool>(folder.write("o.csv", "1,0\n2,0\n")) ==
        folder / "o.csv" + ":2: field 1 is `2`, not true, false, 1 or 0");
  CHECK(csv_error<double>(folder.write("n.csv", "1,2\n3\n")) ==
        folder / "n.csv" + ":2: the first line has 2 fields, this one has 1");
  CHECK(csv_error<double>(folder.write("q.csv", "1,2\n\"3\n4\",5\n")) ==
        folder / "q.csv" + ":2: a quote is not closed in this line; fields with line ends are not supported");
  CHECK(csv_error<double>(folder.write("w.csv", "1,2\n\"3\"4,5\n")) ==
        folder / "w.csv" + ":2: text after a closing quote");
  CHECK(csv_error<double>(folder.write("empty.csv", "\n")) ==
        folder / "empty.csv" + ":1: the file has no rows, so that nothing says how many columns it has");
}

TEST_CASE("csv: written files read back, for any assignment of rows to writers") {
  const TemporaryFolder folder;
  std::vector<double> elements = {0, 1.5, -2, std::numeric_limits<double>::infinity(), 0, 1e-300};
  const auto write = [&](const std::string& name, const Extents& shape) {
    const auto writer = EntryWriter::create(folder / name, ElementType::kF64, shape);
    write_entries(*writer, nonzeros<double>(shape, elements, writer->written()));
    writer->file().commit();
    return folder / name;
  };
  CHECK(csv_array<double>(write("m.csv", {3, 2})) == std::pair{Extents{3, 2}, elements});
  CHECK(folder.read("m.csv") == "0,1.5\n-2,inf\n0,1e-300\n");
  CHECK(csv_array<double>(write("v.csv", {6})) == std::pair{Extents{6}, elements});
  CHECK(run_error_of([&] {
          static_cast<void>(write("t.csv", {3, 2, 1}));
        }).find("hold vectors and matrices") != std::string::npos);
  CHECK(run_error_of([&] { static_cast<void>(write("m.csv:a", {6})); }).find("single columns can only be read") !=
        std::string::npos);
  // Two writers of different rows.
  const std::vector<EntryWriter::Rows> rows = {{0, 1}, {1, 3}};
  const Extents shape = {3, 2};
  const auto first = EntryWriter::create(folder / "two.csv", ElementType::kF64, shape);
  const auto second = EntryWriter::open(first->token());
  const Entries all = nonzeros<double>(shape, elements);
  std::vector<EntryWriter::Numbers> sizes;
  for (std::size_t r = 0; r < 2; ++r) {
    Entries mine(all.form());
    all.for_each([&](const std::byte* entry) {
      const std::int64_t row = all.form().coordinate(entry, 0);
      if (row >= rows[r].first && row < rows[r].last) std::memcpy(mine.append(), entry, all.form().bytes());
    });
    sizes.push_back((r == 0 ? first : second)->take(mine, rows[r]));
  }
  static_cast<void>(second->write(sizes, 1));
  static_cast<void>(first->write(sizes, 0));
  second->file().release();
  first->file().commit();
  CHECK(folder.read("two.csv") == folder.read("m.csv"));
  // Signs of zeros and nan are preserved.
  elements = {-0.0, 0, 1, -std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN(), -0.0};
  const std::vector<double> again = csv_array<double>(write("s.csv", {3, 2})).second;
  CHECK(folder.read("s.csv") == "-0,0\n1,-nan\nnan,-0\n");
  CHECK(std::memcmp(again.data(), elements.data(), elements.size() * sizeof(double)) == 0);
}

TEST_CASE("csv: damaged files give an error or the values of a naive reader") {
  std::mt19937 random(static_cast<unsigned>(43));
  const std::vector<std::string> seeds = {"id,\"a \"\"b\"\"\",c\r\n1, 2.5 ,true\r\n\r\n3,\"4\",\r\n",
                                          "1,2\n3,nan\n-4,1e3", "x\n1\n\n2\n",
                                          "\xef\xbb\xbf"
                                          "1;2,3\n"};
  for (int k = 0; k < 4000; ++k) {
    std::string text = seeds[random() % seeds.size()];
    for (unsigned n = random() % 4; n > 0 && !text.empty(); --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        case 2: text.insert(at, text.substr(random() % text.size(), 1 + random() % 9)); break;
        default:
          text.insert(at, std::vector<std::string>{"\n", "\r\n", " ", "\"", ",", "e", "-", "nan"}[random() % 8]);
          break;
      }
    }
    CAPTURE(text);
    CHECK_NOTHROW(tdsl::tests::check_reader(text, ".csv"));
  }
}
