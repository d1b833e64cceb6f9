#include <doctest/doctest.h>

#include <stdlib.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/json_reader.h"
#include "runtime/io/temporaries.h"
#include "runtime/io/tensor/tensor_file.h"
#include "runtime/io/tensor/zarr.h"
#include "runtime/library/boxes.h"

namespace rt = tdsl::rt;
using tdsl::plan::Box;

namespace {

class TileFolder {
 public:
  TileFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tdsl-zarr-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TileFolder() { std::filesystem::remove_all(path_); }
  TileFolder(const TileFolder&) = delete;
  TileFolder& operator=(const TileFolder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] auto entries() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  std::filesystem::path path_;
};

void put(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

template <class T>
std::string chunk_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string zarray(const std::string& dtype, const std::string& more) {
  return R"({"zarr_format": 2, "shape": [5, 4], "chunks": [2, 3], "order": "C", "filters": null, "compressor": )"
         R"(null, "fill_value": "NaN", "dtype": ")" +
         dtype + "\"" + more + "}";
}

std::string error_of_head(const std::string& text) {
  try {
    static_cast<void>(rt::parse_zarray(text, "a.zarr"));
  } catch (const rt::RunError& error) { return error.what(); }
  return {};
}

}  // namespace

TEST_CASE("zarr: files written by boxes on several writers are read by boxes") {
  const TileFolder folder;
  const std::string path = folder / "a.zarr";
  // One row of two tiles.
  const rt::Extents shape = {1100, 1500};
  std::vector<double> values(1100 * 1500);
  std::iota(values.begin(), values.end(), 0.5);
  REQUIRE(rt::zarr_tile(rt::ElementType::kF64, shape) == rt::Extents{1100, 750});
  for (int again = 0; again < 2; ++again) {  // the second one replaces the first
    const std::shared_ptr<rt::TensorWriter> first =
        rt::create_tensor(path, rt::ElementType::kF64, shape, rt::Unfinished::kUnnamed);
    const std::shared_ptr<rt::TensorWriter> second = rt::open_tensor(first->token());
    first->write_box<double>(rt::Extents{0, 0}, rt::Extents{700, 1500}, values.data(), rt::Extents{1500, 1});
    second->write_box<double>(rt::Extents{700, 0}, rt::Extents{1100, 900}, values.data() + 700 * 1500,
                              rt::Extents{1500, 1});
    second->write_box<double>(rt::Extents{700, 900}, rt::Extents{1100, 1500}, values.data() + 700 * 1500 + 900,
                              rt::Extents{1500, 1});
    first->sync();
    second->sync();
    if (again == 0) CHECK_FALSE(std::filesystem::exists(path));
    first->commit();
    second->release();
  }
  CHECK(folder.entries() == 1);
  CHECK(std::filesystem::file_size(path + "/0.1") == 1100 * 750 * 8);
  const rt::ZarrReader reader(path + "/");
  CHECK(reader.shape() == shape);
  std::vector<double> found(300 * 400, -1);
  // Transposed.
  reader.read_box<double>(rt::Extents{600, 650}, rt::Extents{900, 1050}, found.data(), rt::Extents{1, 300});
  bool same = true;
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 400; ++j) same = same && found[j * 300 + i] == values[(600 + i) * 1500 + 650 + j];
  }
  CHECK(same);
  {
    const auto left =
        rt::create_tensor(folder / "b.zarr", rt::ElementType::kI32, rt::Extents{}, rt::Unfinished::kNamed);
    const std::int32_t seven = 7;
    left->write_box<std::int32_t>({}, {}, &seven, {});
    if (folder.entries() != 2) CHECK(false);
  }
  CHECK(folder.entries() == 1);  // not committed
  {
    const auto lost = rt::create_tensor(folder / "b.zarr", rt::ElementType::kF64, shape, rt::Unfinished::kNamed);
    const auto theirs = rt::open_tensor(lost->token());
    theirs->write_box<double>(rt::Extents{0, 0}, shape, values.data(), rt::Extents{1500, 1});
    REQUIRE(folder.entries() == 2);
    rt::unlink_temporaries();  // as on a rank that exits because another one has failed
    CHECK(folder.entries() == 1);
    CHECK_THROWS_AS(theirs->write_box<double>(rt::Extents{0, 0}, shape, values.data(), rt::Extents{1500, 1}),
                    rt::RunError);
  }
  std::filesystem::create_directory(folder / "c.zarr");
  CHECK_THROWS_WITH_AS(rt::create_tensor(folder / "c.zarr", rt::ElementType::kF64, shape, rt::Unfinished::kNamed),
                       doctest::Contains("is no Zarr array; only one is replaced"), rt::RunError);
}

TEST_CASE("zarr: types, orders, separators and fill values of others") {
  const TileFolder folder;
  const std::string path = folder / "a.zarr";
  put(path + "/.zarray", zarray("<f4", R"(, "dimension_separator": "/")"));
  put(path + "/1/1", chunk_of(std::vector<float>{13, 0, 0, 23, 0, 0}));
  std::vector<double> found(20);
  const auto read = [&] {
    const rt::ZarrReader reader(path);
    reader.read_box<double>(rt::Extents{0, 0}, rt::Extents{5, 4}, found.data(), rt::Extents{4, 1});
  };
  read();
  CHECK(found[2 * 4 + 3] == 13);
  CHECK(found[3 * 4 + 3] == 23);
  CHECK(std::isnan(found[0]));
  CHECK(std::isnan(found[19]));
  std::filesystem::remove_all(path);
  std::string integers = zarray(">i2", "");
  integers.replace(integers.find("\"C\""), 3, "\"F\"");
  integers.replace(integers.find("\"NaN\""), 5, "-3");
  put(path + "/.zarray", integers);
  put(path + "/0.0", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12));  // column-major
  read();
  CHECK(found[0] == 1);
  CHECK(found[4] == 2);
  CHECK(found[1] == 3);
  CHECK(found[3] == -3);
  put(path + "/2.1", "short");
  CHECK_THROWS_WITH_AS(read(), doctest::Contains("has 5 bytes; a tile of this array has 12"), rt::RunError);
}

TEST_CASE("zarr: heads that cannot be read") {
  CHECK(error_of_head(zarray("<f8", R"(, "x": 1)")).empty());
  CHECK(error_of_head("{").find("no JSON at byte 1") != std::string::npos);
  CHECK(error_of_head(R"({"zarr_format": 3})").find("only version 2") != std::string::npos);
  std::string text = zarray("<f8", "");
  text.replace(text.find("\"compressor\": null"), 18, R"("compressor": {"id": "blosc"})");
  CHECK(error_of_head(text).find("its tiles are compressed (blosc)") != std::string::npos);
  CHECK_FALSE(error_of_head(zarray("<c32", "")).empty());
  CHECK(error_of_head(zarray("<i4", "")).find("its fill value NaN is no value of its dtype") != std::string::npos);
  text = zarray("|u1", "");
  for (const auto& [fill, good] :
       {std::pair{"255", true}, std::pair{"256", false}, std::pair{"-1", false}, std::pair{"2.5", false}}) {
    std::string with = text;
    CHECK(error_of_head(with.replace(with.find("\"NaN\""), 5, fill)).empty() == good);
  }
  text = zarray("<f8", "");
  text.replace(text.find("[2, 3]"), 6, "[2, 0]");
  CHECK(error_of_head(text).find("chunks do not fit") != std::string::npos);
  CHECK(rt::parse_zarray(rt::zarray_text(rt::ElementType::kI64, rt::Extents{7, 9}, rt::Extents{7, 3}), "a")
            .tile.type_name() == "i64");
  CHECK(*rt::parse_json(R"({"a": ["x\n\u00e4", true]})").member("a")->items()->front().string() == "x\n\xc3\xa4");
}

TEST_CASE("boxes: without others, cut, united") {
  const auto box = [](tdsl::plan::Index a, tdsl::plan::Index b, tdsl::plan::Index c, tdsl::plan::Index d) {
    Box result;
    result.rank = 2;
    result[0] = {a, b};
    result[1] = {c, d};
    return result;
  };
  const auto volume = [](const std::vector<Box>& boxes) {
    tdsl::plan::Index sum = 0;
    for (const Box& b : boxes) sum += b.volume();
    return sum;
  };
  const Box whole = box(0, 10, 0, 8);
  CHECK(volume(rt::outside(whole, std::vector{box(2, 5, 3, 20), box(4, 6, 0, 4)})) == 80 - 3 * 5 - 2 * 4 + 1);
  CHECK(rt::outside(whole, std::vector{box(0, 5, 0, 8), box(5, 10, -1, 9)}).empty());
  CHECK(rt::outside(whole, {}) == std::vector{whole});
  const std::vector<Box> parts = rt::cut(whole, 6);
  CHECK(volume(parts) == 80);
  CHECK(rt::outside(whole, parts).empty());
  CHECK(rt::united(parts) == std::vector{whole});
  CHECK(rt::united({box(0, 1, 0, 1), box(1, 2, 1, 2)}).size() == 2);
  tdsl::plan::Index rows = 0;
  for (int rank = 0; rank < 3; ++rank)
    rows += rt::share_of_rows(std::vector<tdsl::plan::Index>{10, 3}, rank, 3)[0].size();
  CHECK(rows == 10);
}
