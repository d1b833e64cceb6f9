#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/temporaries.h"
#include "runtime/message_id.h"

using namespace tdsl::rt;
using Extents = std::vector<std::int64_t>;

namespace {

/// A directory used by this process only, removed at the end.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "tdsl-npy-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

bool has_unnamed_files(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDWR | O_TMPFILE, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// A `.npy` file of version 1, 2 or 3 with the given dictionary and element bytes.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string length{static_cast<char>(dictionary.size() & 0xFF), static_cast<char>(dictionary.size() >> 8)};
  if (version > 1) { length += std::string(2, '\0'); }
  return std::string("\x93NUMPY") + version + '\0' + length + dictionary + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }\n";
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool swapped = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    bytes += swapped ? std::string(one.rbegin(), one.rend()) : one;
  }
  return bytes;
}

Extents c_strides(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) { strides[d - 1] = strides[d] * shape[d]; }
  return strides;
}

template <class T>
std::vector<T> read_all(const std::string& path) {
  const NpyReader reader(path);
  std::vector<T> values(static_cast<std::size_t>(reader.header().element_count()));
  const Extents lo(reader.shape().size(), 0);
  reader.read_box<T>(lo, reader.shape(), values.data(), c_strides(reader.shape()));
  return values;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const RunError& error) {
    CHECK(error.exit_code() == 1);
    return without_id(error.what());
  }
  return "no error";
}

std::string open_error(const std::string& path) {
  return error_of([&] { const NpyReader reader(path); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("headers are NumPy's own bytes") {
  // numpy.save of numpy.zeros((3, 4)), of a vector of 5 int32 and of a bool scalar
  const auto expected = [](const std::string& text) {
    std::string header = std::string("\x93NUMPY\x01\x00v\x00", 10) + text;
    return header + std::string(127 - header.size(), ' ') + '\n';
  };
  CHECK(npy_header_bytes(ElementType::kF64, Extents{3, 4}) ==
        expected("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"));
  CHECK(npy_header_bytes(ElementType::kI32, Extents{5}) ==
        expected("{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }"));
  CHECK(npy_header_bytes(ElementType::kBool, Extents{}) ==
        expected("{'descr': '|b1', 'fortran_order': False, 'shape': (), }"));
  const std::int64_t large = std::int64_t{1} << 59;
  CHECK(npy_header_bytes(ElementType::kF32, Extents(8, large)).size() % 64 == 0);
}

TEST_CASE("every version, order and byte order is read") {
  const Directory dir;
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  for (const char version : {'\1', '\2', '\3'}) {
    write_file(dir / "a.npy", npy(dictionary("<f8", "(2, 3)"), bytes_of(values), version));
    CHECK(read_all<double>(dir / "a.npy") == values);
    write_file(dir / "a.npy", npy(dictionary(">f8", "(2, 3)"), bytes_of(values, true), version));
    CHECK(read_all<double>(dir / "a.npy") == values);
    write_file(dir / "a.npy", npy(dictionary("<f8", "(2, 3)", true), bytes_of(values), version));
    CHECK(read_all<double>(dir / "a.npy") == std::vector<double>{1, 3, 5, 2, 4, 6});
  }
  write_file(dir / "s.npy", npy(dictionary("<f8", "()"), bytes_of<double>({2.5})));
  CHECK(read_all<double>(dir / "s.npy") == std::vector<double>{2.5});
  write_file(dir / "e.npy", npy(dictionary("<f8", "(0, 3)"), ""));
  CHECK(read_all<double>(dir / "e.npy").empty());
  write_file(dir / "l.npy", npy("{\"shape\": (2L,), \"fortran_order\": False, \"descr\": \"|i1\"}", "\x01\xff"));
  CHECK(read_all<std::int32_t>(dir / "l.npy") == std::vector<std::int32_t>{1, -1});
}

TEST_CASE("elements widen as in NumPy's safe casting") {
  const Directory dir;
  const std::string path = dir / "a.npy";
  struct Row {
    const char* descr;
    std::size_t bytes;
    ElementType natural;
    std::string allowed;  // of kTypes, in this order
  };
  const std::vector<Row> rows{
      {"|b1", 1, ElementType::kBool, "yyyyyyyyyyyyy"}, {"|i1", 1, ElementType::kI8, "nyyyyynynnnyy"},
      {"<i2", 2, ElementType::kI16, "nyyyynnynnnnn"},  {"<i4", 4, ElementType::kI32, "nyynynnnnnnnn"},
      {"<i8", 8, ElementType::kI64, "nnynynnnnnnnn"},  {"|u1", 1, ElementType::kU8, "nyyyynyyyyyyy"},
      {"<u2", 2, ElementType::kU16, "nyyyynnnyyynn"},  {"<u4", 4, ElementType::kU32, "nnynynnnnyynn"},
      {"<u8", 8, ElementType::kU64, "nnnnynnnnnynn"},  {"<f2", 2, ElementType::kF16, "nnnyynnnnnnyn"},
      {"<V2", 2, ElementType::kBf16, "nnnyynnnnnnny"}, {"<f4", 4, ElementType::kF32, "nnnyynnnnnnnn"},
      {"<f8", 8, ElementType::kF64, "nnnnynnnnnnnn"}};
  constexpr std::array kTypes = {ElementType::kBool, ElementType::kI32, ElementType::kI64, ElementType::kF32,
                                 ElementType::kF64,  ElementType::kI8,  ElementType::kU8,  ElementType::kI16,
                                 ElementType::kU16,  ElementType::kU32, ElementType::kU64, ElementType::kF16,
                                 ElementType::kBf16};
  for (const Row& row : rows) {
    write_file(path, npy(dictionary(row.descr, "()"), std::string(row.bytes, '\0')));
    const NpyReader reader(path);
    CHECK(reader.type() == row.natural);
    for (std::size_t t = 0; t < kTypes.size(); ++t) { CHECK(reader.widens_to(kTypes[t]) == (row.allowed[t] == 'y')); }
  }
  CHECK(error_of([&] { NpyReader(path).require_widening(ElementType::kF32, "X"); }) ==
        "input X is declared f32, but `" + path +
            "` holds f64, which does not widen to it; convert the file or declare a wider type");
  write_file(path, npy(dictionary(">i2", "(2,)"), bytes_of<std::int16_t>({-2, 300}, true)));
  CHECK(read_all<double>(path) == std::vector<double>{-2, 300});
  CHECK(read_all<float>(path) == std::vector<float>{-2, 300});
  write_file(path, npy(dictionary("<u4", "(1,)"), bytes_of<std::uint32_t>({4000000000})));
  CHECK(read_all<std::int64_t>(path) == std::vector<std::int64_t>{4000000000});
  write_file(path, npy(dictionary("|b1", "(2,)"), std::string("\x00\x01", 2)));
  CHECK(read_all<std::int64_t>(path) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("any box goes to any strides") {
  const Directory dir;
  const Extents shape{5, 6, 7};
  std::vector<std::int64_t> values(210);
  std::iota(values.begin(), values.end(), 0);
  for (const bool fortran : {false, true}) {
    write_file(dir / "a.npy", npy(dictionary("<i8", "(5, 6, 7)", fortran), bytes_of(values)));
    const NpyReader reader(dir / "a.npy");
    const Extents file_strides = fortran ? Extents{1, 5, 30} : Extents{42, 7, 1};
    const Extents lo{1, 0, 2}, hi{4, 6, 5};
    for (const Extents& strides : {Extents{18, 3, 1}, Extents{1, 3, 18}, Extents{40, 2, 13}}) {
      std::vector<double> out(200, -1);
      reader.read_box<double>(lo, hi, out.data(), strides);
      for (std::int64_t i = 1; i < 4; ++i) {
        for (std::int64_t j = 0; j < 6; ++j) {
          for (std::int64_t k = 2; k < 5; ++k) {
            const std::int64_t at = (i - 1) * strides[0] + j * strides[1] + (k - 2) * strides[2];
            const std::int64_t from = i * file_strides[0] + j * file_strides[1] + k * file_strides[2];
            REQUIRE(out[static_cast<std::size_t>(at)] == static_cast<double>(from));
          }
        }
      }
    }
    CHECK_THROWS_AS(reader.read_box<double>(lo, Extents{6, 6, 5}, nullptr, lo), InternalError);
    CHECK_THROWS_AS(reader.read_box<float>(lo, hi, nullptr, lo), InternalError);
  }
}

TEST_CASE("rows larger than the buffers are read and written whole") {
  const Directory dir;
  const Extents shape{3, 1'100'000}, lo{0, 0};
  std::vector<float> values(3'300'000);
  std::iota(values.begin(), values.end(), 0.0F);
  {
    NpyWriter writer = NpyWriter::create(dir / "a.npy", ElementType::kF32, shape);
    writer.write_box<float>(Extents{0, 0}, Extents{2, 1'100'000}, values.data(), Extents{1'100'000, 1});
    std::vector<float> reversed(values.rbegin(), values.rbegin() + 1'100'000);
    writer.write_box<float>(Extents{2, 0}, shape, reversed.data() + 1'099'999, Extents{0, -1});
    writer.commit();
  }
  CHECK(read_all<float>(dir / "a.npy") == values);
  const std::vector<double> wide = read_all<double>(dir / "a.npy");
  CHECK(std::equal(wide.begin(), wide.end(), values.begin()));
}

TEST_CASE("damaged and foreign files are refused") {
  const Directory dir;
  const std::string path = dir / "a.npy";
  CHECK(open_error(dir / "none.npy") == "cannot open `" + (dir / "none.npy") + "`: No such file or directory");
  const std::string good = npy(dictionary("<f8", "(2, 3)"), std::string(48, '\0'));
  write_file(path, good.substr(0, good.size() - 1));
  CHECK(open_error(path) == "`" + path + "` is truncated: f64[2, 3] needs 48 bytes of data, the file has 47");
  write_file(path, good + "x");
  CHECK(open_error(path) == "`" + path + "` is too long: f64[2, 3] needs 48 bytes of data, the file has 49");
  write_file(path, good.substr(0, 40));
  CHECK(contains(open_error(path), "is truncated: its header"));
  write_file(path, "tiny");
  CHECK(contains(open_error(path), "is not a .npy file"));
  write_file(path, std::string(100, 'x'));
  CHECK(contains(open_error(path), "is not a .npy file"));
  write_file(path, npy(dictionary("<f8", "(1,)"), "", 9));
  CHECK(contains(open_error(path), ".npy version 9"));
  write_file(path, npy(dictionary("<c32", "(1,)"), ""));
  CHECK(contains(open_error(path), "element type `<c32`"));
  write_file(path, npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", ""));
  CHECK(contains(open_error(path), "holds records"));
  for (const char* bad : {"", "{", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
                          "{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", "{'x': 3}", "{'descr: "}) {
    write_file(path, npy(bad, ""));
    CHECK_MESSAGE(contains(open_error(path), "damaged .npy header"), bad);
  }
  write_file(path, npy(dictionary("<f8", "(4611686018427387904, 4)"), ""));
  CHECK(contains(open_error(path), "more elements than 64 bits"));
  write_file(path, npy(dictionary("<f8", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), ""));
  CHECK(contains(open_error(path), "9 dimensions"));
  std::filesystem::create_directory(dir / "d");
  CHECK(contains(open_error(dir / "d"), "not a regular file, but a directory"));
  REQUIRE(::mkfifo((dir / "pipe.npy").c_str(), 0600) == 0);
  CHECK(contains(open_error(dir / "pipe.npy"), "not a regular file, but a pipe (FIFO)"));
}

TEST_CASE("a file that changes after its header was read is refused, one that is replaced is read") {
  const Directory dir;
  const std::string path = dir / "a.npy";
  const auto file_of = [](double x) { return npy(dictionary("<f8", "(2,)"), bytes_of<double>({x, x})); };
  const auto first_of = [](const NpyReader& reader) {
    std::vector<double> all(2);
    reader.read_box<double>(Extents{0}, Extents{2}, all.data(), Extents{1});
    return all[0];
  };
  write_file(path, file_of(1));
  const NpyReader first(path);
  write_file(dir / "b.npy", file_of(2));
  std::filesystem::rename(dir / "b.npy", path);
  CHECK(first_of(first) == 1);
  const NpyReader second(path);
  CHECK(second.identity() != first.identity());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  CHECK(
      contains(error_of([&] { (void)first_of(second); }), "`" + path + "` was changed after its header had been read"));
  const NpyReader third(path);
  write_file(path, file_of(3) + "more");
  CHECK(contains(error_of([&] { (void)first_of(third); }), "and has " + std::to_string(file_of(3).size() + 4)));
}

TEST_CASE("the bytes written do not depend on the boxes") {
  const Directory dir;
  const Extents shape{5, 7};
  std::vector<std::int32_t> values(35);
  std::iota(values.begin(), values.end(), -9);
  Unfinished unfinished = Unfinished::kUnnamed;
  std::int64_t calls = 0;
  const auto write = [&](const std::string& name, const std::vector<std::array<std::int64_t, 4>>& boxes) {
    NpyWriter first = NpyWriter::create(dir / name, ElementType::kI32, shape, unfinished);
    NpyWriter second = NpyWriter::open(first.token());
    CHECK(second.shape() == shape);
    CHECK(second.type() == ElementType::kI32);
    bool other = false;
    for (const auto& [i0, i1, j0, j1] : boxes) {
      (other ? second : first)
          .write_box<std::int32_t>(Extents{i0, j0}, Extents{i1, j1}, values.data() + 7 * i0 + j0, Extents{7, 1});
      other = !other;
    }
    second.sync();
    first.commit();
    second.release();
    calls = first.written().calls + second.written().calls;
    return content_of(dir / name);
  };
  const std::string whole = write("a.npy", {{0, 5, 0, 7}});
  CHECK(whole == npy_header_bytes(ElementType::kI32, shape) + bytes_of(values));
  CHECK(calls == 1);  // rows that are contiguous in memory
  CHECK(write("b.npy", {{0, 2, 0, 3}, {2, 5, 0, 3}, {0, 5, 3, 7}}) == whole);
  CHECK(calls == 10);
  unfinished = Unfinished::kNamed;
  CHECK(write("a.npy", {{0, 5, 0, 1}, {0, 5, 1, 7}, {5, 5, 0, 7}}) == whole);  // replaces the first
  CHECK(dir.file_count() == 2);
}

TEST_CASE("scalars, empty arrays and rank 8") {
  const Directory dir;
  const double scalar = 2.5;
  NpyWriter writer = NpyWriter::create(dir / "s.npy", ElementType::kF64, {});
  writer.write_box<double>({}, {}, &scalar, {});
  writer.commit();
  CHECK(read_all<double>(dir / "s.npy") == std::vector<double>{2.5});
  NpyWriter empty = NpyWriter::create(dir / "e.npy", ElementType::kBool, Extents{3, 0});
  empty.commit();
  CHECK(NpyReader(dir / "e.npy").shape() == Extents{3, 0});
  const Extents eight{2, 1, 2, 1, 2, 1, 2, 2};
  std::vector<std::int64_t> values(32);
  std::iota(values.begin(), values.end(), 0);
  NpyWriter deep = NpyWriter::create(dir / "8.npy", ElementType::kI64, eight);
  deep.write_box<std::int64_t>(Extents(8, 0), eight, values.data(), c_strides(eight));
  deep.commit();
  CHECK(read_all<std::int64_t>(dir / "8.npy") == values);
}

TEST_CASE("a file not committed leaves nothing, and an older one stays") {
  const Directory dir;
  write_file(dir / "a.npy", "old");
  for (const Unfinished unfinished : {Unfinished::kUnnamed, Unfinished::kNamed}) {
    {
      const NpyWriter writer = NpyWriter::create(dir / "a.npy", ElementType::kF64, Extents{100}, unfinished);
      CHECK(dir.file_count() == (unfinished == Unfinished::kUnnamed && has_unnamed_files(dir / "") ? 1 : 2));
      CHECK(content_of(dir / "a.npy") == "old");
    }
    CHECK(dir.file_count() == 1);
    CHECK(content_of(dir / "a.npy") == "old");
  }
  NpyWriter writer = NpyWriter::create(dir / "a.npy", ElementType::kF64, Extents{100}, Unfinished::kNamed);
  unlink_temporaries();  // as in a signal handler
  CHECK(dir.file_count() == 1);
  writer.discard();
  CHECK(dir.file_count() == 1);
}

TEST_CASE("links and modes of a replaced file are kept") {
  const Directory dir;
  write_file(dir / "target.npy", "old");
  ::chmod((dir / "target.npy").c_str(), 0640);
  std::filesystem::create_symlink(dir / "target.npy", dir / "link.npy");
  NpyWriter writer = NpyWriter::create(dir / "link.npy", ElementType::kF64, Extents{0});
  writer.commit();
  CHECK(std::filesystem::is_symlink(dir / "link.npy"));
  struct stat status {};
  REQUIRE(::stat((dir / "target.npy").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
  CHECK(status.st_size == 128);
}

TEST_CASE("outputs that cannot be written are found at once") {
  const Directory dir;
  const auto create_error = [](const std::string& path, const Extents& shape) {
    return error_of([&] { (void)NpyWriter::create(path, ElementType::kF64, shape); });
  };
  CHECK(create_error(dir / "no/a.npy", {1}) == "cannot write `" + (dir / "no/a.npy") + "`: No such file or directory");
  std::filesystem::create_directory(dir / "d.npy");
  std::filesystem::create_symlink("/dev/null", dir / "null.npy");
  CHECK(contains(create_error(dir / "d.npy", {1}), "not a regular file"));
  CHECK(contains(create_error(dir / "null.npy", {1}), "not a regular file"));
  CHECK(contains(create_error(dir / "d.npy/", {1}), "names no file"));
  CHECK(contains(create_error("/dev/null", {1}), "names no format"));
  const std::int64_t huge = std::int64_t{1} << 42;  // 32 TiB
  const std::string message = create_error(dir / "a.npy", {huge});
  CHECK(contains(message, "cannot write `" + (dir / "a.npy") + "`: it needs 32.0 TiB"));
  CHECK(dir.file_count() == 2);
  write_file(dir / "read_only.npy", "old");
  ::chmod((dir / "read_only.npy").c_str(), 0400);
  if (::geteuid() != 0) {  // root can write to everything
    CHECK(contains(create_error(dir / "read_only.npy", {1}), "Permission denied"));
  }
}
