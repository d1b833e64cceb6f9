#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/series/record_file.h"
#include "runtime/io/tensor/zarr.h"
#include "tests/runtime/temporary_folder.h"

namespace rt = tdsl::rt;
using tdsl::tests::TemporaryFolder;

namespace {

using Numbers = std::vector<double>;

rt::SeriesLayout matrices(const std::string& path) { return {path, rt::ElementType::kF64, {2, 3}}; }

Numbers numbers_of(std::int64_t record) {
  Numbers all(6);
  for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<double>(record) + 0.125 * static_cast<double>(k);
  return all;
}

/// Writes columns [lo, hi) of a record.
void write_columns(const rt::RecordFile& file, std::int64_t record, std::int64_t lo, std::int64_t hi) {
  const Numbers all = numbers_of(record);
  file.write_box<double>(record, rt::Extents{0, lo}, rt::Extents{2, hi}, all.data() + lo, rt::Extents{3, 1});
}

void append(rt::RecordFile& file, std::int64_t first, std::int64_t end) {
  for (std::int64_t r = first; r < end; ++r) {
    write_columns(file, r, 0, 3);
    file.publish(r + 1);
  }
}

template <class Reader>
Numbers records_in(const std::string& path, std::int64_t count) {
  const Reader reader(path);
  REQUIRE(reader.shape() == rt::Extents{count, 2, 3});
  Numbers all(static_cast<std::size_t>(6 * count));
  reader.template read_box<double>(rt::Extents{0, 0, 0}, rt::Extents{count, 2, 3}, all.data(), rt::Extents{6, 3, 1});
  return all;
}

Numbers expected(std::int64_t count) {
  Numbers all;
  for (std::int64_t r = 0; r < count; ++r) {
    const Numbers one = numbers_of(r);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Reader>
void check_format(const std::string& path) {
  {
    const auto first = rt::begin_records(matrices(path));
    CHECK(records_in<Reader>(path, 0).empty());
    const auto second = rt::open_records(first->token());
    write_columns(*first, 0, 0, 2);
    write_columns(*second, 0, 2, 3);
    CHECK(records_in<Reader>(path, 0).empty());  // no record is published
    first->publish(1);
    CHECK(records_in<Reader>(path, 1) == expected(1));
    append(*first, 1, 12);
    write_columns(*second, 12, 0, 1);  // an incomplete record
    CHECK(records_in<Reader>(path, 12) == expected(12));
    first->sync();
  }
  {
    const auto resumed = rt::resume_records(matrices(path), 9);
    CHECK(records_in<Reader>(path, 9) == expected(9));
    append(*resumed, 9, 11);
    CHECK(records_in<Reader>(path, 11) == expected(11));
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(rt::resume_records(matrices(path), 12)),
      ("cannot continue the series `" + path + "`: it has 11 records, and the checkpoint 12 [checkpoint]").c_str(),
      rt::RunError);
  CHECK_THROWS_WITH_AS(
      static_cast<void>(rt::resume_records({path, rt::ElementType::kF64, {3, 2}}, 1)),
      ("cannot continue the series `" + path + "`: it was not written by this program [checkpoint]").c_str(),
      rt::RunError);
  static_cast<void>(rt::begin_records(matrices(path)));
  CHECK(records_in<Reader>(path, 0).empty());
}

}  // namespace

TEST_CASE("series: records in .npy files and Zarr arrays") {
  const TemporaryFolder folder;
  check_format<rt::NpyReader>(folder / "a.npy");
  check_format<rt::ZarrReader>(folder / "a.zarr");
}

TEST_CASE("series: a record is complete when its last part is in the file") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.npy";
  const auto file = rt::begin_records(matrices(path));
  append(*file, 0, 2);
  const auto whole = std::filesystem::file_size(path);
  write_columns(*file, 2, 0, 3);
  CHECK(std::filesystem::file_size(path) == whole + 48);
  CHECK(records_in<rt::NpyReader>(path, 2) == expected(2));
}

TEST_CASE("series: lines of a .csv file") {
  const TemporaryFolder folder;
  const std::string path = folder / "a.csv";
  const rt::SeriesLayout vectors{path, rt::ElementType::kF32, {3}};
  const std::vector<float> values{0.1F, 2.0F, -1e-20F};
  {
    const auto file = rt::begin_records(vectors);
    CHECK(text_of(path).empty());
    file->write_box<float>(1, rt::Extents{0}, rt::Extents{3}, values.data(), rt::Extents{1});
    file->write_box<float>(0, rt::Extents{1}, rt::Extents{3}, values.data(), rt::Extents{2});
    file->write_box<float>(0, rt::Extents{0}, rt::Extents{1}, values.data(), rt::Extents{1});
    file->publish(2);
    CHECK(text_of(path) == "0.1,0.1,-1e-20\n0.1,2,-1e-20\n");
  }
  std::ofstream(path, std::ios::app) << "7,8";
  const auto resumed = rt::resume_records(vectors, 1);
  CHECK(text_of(path) == "0.1,0.1,-1e-20\n");
  resumed->write_box<float>(1, rt::Extents{0}, rt::Extents{3}, values.data(), rt::Extents{1});
  resumed->publish(2);
  CHECK(text_of(path) == "0.1,0.1,-1e-20\n0.1,2,-1e-20\n");
  CHECK_THROWS_AS(static_cast<void>(rt::resume_records(vectors, 3)), rt::RunError);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(static_cast<void>(rt::resume_records(vectors, 0)),
                       ("cannot continue the series `" + path + "`: it is missing [checkpoint]").c_str(), rt::RunError);
}

TEST_CASE("series: formats that take none") {
  CHECK_THROWS_AS(static_cast<void>(rt::begin_records(matrices("a.mtx"))), rt::RunError);
  CHECK_THROWS_AS(static_cast<void>(rt::begin_records(matrices("a.csv"))), rt::RunError);
}
