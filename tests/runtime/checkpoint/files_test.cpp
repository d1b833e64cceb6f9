#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/run_ahead.h"
#include "runtime/checkpoint/folder.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/path_text.h"
#include "runtime/engine/boundaries.h"
#include "runtime/io/checksum.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl;
using namespace tdsl::rt::checkpoint;
using rt::checksum;

namespace {

std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

Box box_of(std::vector<plan::Interval> dims) {
  Box box;
  box.rank = static_cast<int>(dims.size());
  std::ranges::copy(dims, box.dim.begin());
  return box;
}

/// Manifest of an empty checkpoint with these bases.
std::string manifest_of(std::int64_t number, std::vector<std::int64_t> bases) {
  Manifest manifest;
  manifest.number = number;
  manifest.path.frames.resize(2);
  for (const std::int64_t base : bases) manifest.bases.push_back({base, {}});
  return print(manifest);
}

/// As if written by another version: only the first line is known.
std::string of_version(const std::string& version, std::string manifest) {
  manifest.replace(0, manifest.find('\n'), "tdsl-checkpoint " + version);
  return manifest.insert(manifest.find('\n'), "\nwhatever that has");
}

void change_byte(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const auto byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 0x10));
}

}  // namespace

TEST_CASE("checkpoint: sums are XXH64, however the bytes come") {
  const std::vector<std::pair<std::string_view, std::uint64_t>> published{
      {"", 0xef46db3751d8e999},
      {"a", 0xd24ec4f1a98c6e5b},
      {"as", 0x1c330fb2d66be179},
      {"asd", 0x631c37ce72a97393},
      {"asdf", 0x415872f599cea71e},
      {"abc", 0x44bc2cf5ad770999},
      {"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02a2e85470d6fd96}};
  for (const auto& [text, sum] : published) CHECK(checksum(text_bytes(text)) == sum);
  std::mt19937 random(1);
  for (int k = 0; k < 200; ++k) {
    std::string text(random() % 300, ' ');
    for (char& c : text) c = static_cast<char>(random());
    rt::Checksum pieces;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t n = 1 + random() % rest.size();
      pieces.add(text_bytes(rest.substr(0, n)));
      rest.remove_prefix(n);
    }
    CHECK(pieces.value() == checksum(text_bytes(text)));
  }
}

TEST_CASE("checkpoint: a rank's file gives back its blocks, and any changed byte is found") {
  const tests::TemporaryFolder folder;
  const std::string path = folder / "rank-00000.bin";
  const std::string large(10000, 'x');
  const Box a = box_of({{0, 5}, {10, 20}}), b = box_of({{5, 9}, {10, 20}}), point = box_of({});
  FileSeal seal;
  {
    RankFileWriter writer(path);
    writer.write(7, b, text_bytes("second"));
    writer.write(7, a, text_bytes(large));
    writer.write(3, point, text_bytes("scalar"));
    writer.write(8, a, {});
    seal = writer.finish();
    CHECK_THROWS_AS(RankFileWriter{path}, rt::RunError);
  }
  CHECK(std::filesystem::file_size(path) == static_cast<std::size_t>(seal.bytes));
  const auto text_of = [](const RankFileReader& reader, plan::TensorId tensor, const Box& box) {
    const SavedBlock* const block = reader.find(tensor, box);
    REQUIRE(block != nullptr);
    std::string text(static_cast<std::size_t>(block->bytes), ' ');
    reader.read(*block, 0, std::as_writable_bytes(std::span(text)));
    return text;
  };
  {
    const RankFileReader reader(path, seal);
    reader.verify();
    CHECK(text_of(reader, 7, a) == large);
    CHECK(text_of(reader, 7, b) == "second");
    CHECK(text_of(reader, 3, point) == "scalar");
    CHECK(text_of(reader, 8, a).empty());
    CHECK(reader.find(7, box_of({{0, 5}, {10, 21}})) == nullptr);
    CHECK(reader.find(9, a) == nullptr);
    for (const SavedBlock& block : reader.blocks()) CHECK(block.offset % 4096 == 0);
  }
  std::vector<std::streamoff> places;
  const std::vector<SavedBlock> blocks = RankFileReader(path, seal).blocks();
  for (const SavedBlock& block : blocks) {
    if (block.bytes > 0) places.insert(places.end(), {block.offset, block.offset + block.bytes - 1});
  }
  for (std::streamoff at = seal.bytes - 4 * 168 - 32; at < seal.bytes; at += 13) places.push_back(at);
  for (const std::streamoff at : places) {
    CAPTURE(at);
    change_byte(path, at);
    CHECK_THROWS_AS(RankFileReader(path, seal).verify(), Damaged);
    change_byte(path, at);
  }
  RankFileReader(path, seal).verify();
  change_byte(path, places.front());
  CHECK_THROWS_WITH_AS(RankFileReader(path, seal).verify([](plan::TensorId) { return std::string("w"); }),
                       doctest::Contains("of `w` is damaged"), Damaged);
  change_byte(path, places.front());
  std::filesystem::resize_file(path, static_cast<std::size_t>(seal.bytes) - 1);
  CHECK_THROWS_WITH_AS(RankFileReader(path, seal), doctest::Contains("bytes instead of"), Damaged);
}

TEST_CASE("checkpoint: a manifest reads back as it was, and any changed byte is found") {
  using plan::Distribution;
  using plan::Tiling;
  const auto cut = Tiling::at({3, 4, 10});
  const std::vector<Tiling> tilings{Tiling::near_equal(100, 7, 4), Tiling::fixed(50, 16)};
  record::KnownTensor dense{{41, {4, "f32"}, {100, 50}, "a \"b\"\nc", {16, 16}, {}, {}, nullptr, {true, false}},
                            rt::ElementType::kF32};
  record::KnownTensor sized{{42,
                             {8, "f64"},
                             {10, 50},
                             "S",
                             {},
                             plan::compressed_rows(),
                             {1, 2.5, 1e300},
                             std::make_shared<const plan::RowCounts>(plan::RowCounts{10, {0, 4, 9}, 3}),
                             {}},
                            rt::ElementType::kF64};
  Manifest m;
  m.number = 12;
  m.identity = {{"program", "p 12ab"}, {"param k", "3"}};
  m.setting = {{"ranks", "6"}};
  m.plan = "line one\nline \"two\"\n";
  m.machine = "rate 1e9\n";
  m.seconds = 0.1;
  m.path.frames.resize(2);
  m.path.frames[0].events = {
      {false, 0xffffffffffffffff, {}, {}, {}},
      {true, 0, {{5, nullptr}, {0, std::make_shared<const record::KnownTensor>(sized)}}, {1, 2}, {3, 4}}};
  m.path.frames[1] = {7, {{0, std::make_shared<const record::KnownTensor>(dense)}}, {43, 9}, {47, 10}, {}};
  m.tensors = {
      {dense,
       false,
       Distribution::grid(6, tilings, {{{{2, 3}}, 1}, {{{3, 1}}, 2}}, 0),
       Distribution::replicated(6, tilings),
       {4, 5},
       Distribution::in_columns(tilings, {6, 2, 0, 1})},
      {sized, true, std::nullopt, std::nullopt, {}, {}},
      {sized, false, Distribution::table(2, {cut}, {0, 1, 0}), std::nullopt, {}, Distribution::single(6, {cut}, 3)}};
  m.tensors[0].site = 9;
  m.tensors[0].housing = {plan::Home::kDisk, 3};
  m.files = {{4096, 0xabcdef}, {8192, 1}};
  m.tensors[2].base = 11;
  m.bases = {{11, {{512, 5}, {1024, 6}, {0, 7}}}};
  m.predicted = 100;
  m.done = 0.3;
  const std::string text = print(m);
  const Manifest back = parse_manifest(text);
  CHECK(print(back) == text);
  CHECK(back.tensors[0].where == m.tensors[0].where);
  CHECK(back.tensors[0].copy == m.tensors[0].copy);
  CHECK(back.tensors[0].saved == m.tensors[0].saved);
  CHECK(back.tensors[2].where == m.tensors[2].where);
  CHECK(back.tensors[0].known.desc.name == dense.desc.name);
  CHECK(back.tensors[1].known.desc.rows->before == sized.desc.rows->before);
  CHECK(back.tensors[1].known.desc.stored == sized.desc.stored);
  CHECK(back.plan == m.plan);
  CHECK(back.files == m.files);
  CHECK(back.files_of(0) == m.files);
  CHECK(back.files_of(11) == m.bases[0].files);
  CHECK(back.path.records(0));
  CHECK_FALSE(back.path.records(2));   // in the finished loop
  CHECK_FALSE(back.path.records(43));  // in the unfinished loop
  CHECK(back.find(42) != nullptr);
  CHECK(back.find(43) == nullptr);
  for (std::size_t k = 0; k < text.size(); ++k) {
    std::string changed = text;
    changed[k] = static_cast<char>(changed[k] ^ 1);
    CHECK_THROWS_AS(static_cast<void>(parse_manifest(changed)), Damaged);
    CHECK_THROWS_AS(static_cast<void>(parse_manifest(std::string_view(text).substr(0, k))), Damaged);
  }
  for (const std::string version : {"3", "4", "50"}) {
    CHECK_THROWS_WITH_AS(static_cast<void>(parse_manifest(of_version(version, text))),
                         ("its manifest has format " + version + ", and this program reads format 7").c_str(),
                         OtherVersion);
  }
  for (const std::string version : {"", "x", "5x", "-5"})
    CHECK_THROWS_AS(static_cast<void>(parse_manifest(of_version(version, text))), Damaged);
  CHECK(difference(m.identity, m.identity).empty());
  CHECK(difference(m.identity, {{"program", "p 12ab"}, {"param k", "4"}}) == "param k was 3, is now 4");
  CHECK(difference(m.identity, {{"program", "p 12ab"}}) == "param k was 3, is now absent");
  CHECK(difference({}, {{"a", "b"}}) == "a was absent, is now b");
}

TEST_CASE("checkpoint: a directory keeps the last ones, whole ones only") {
  const tests::TemporaryFolder place;
  const Folder folder(place / "ck");
  folder.prepare();
  folder.prepare();
  CHECK(folder.numbers().empty());
  const auto write = [&](std::int64_t number, const std::string& attempt) {
    folder.begin(number, attempt);
    folder.commit(number, attempt, manifest_of(number, {}));
    folder.prune(2, attempt, folder.checkpoint(1));
  };
  for (const std::int64_t number : {1, 2, 3, 4}) write(number, "a");
  CHECK(folder.numbers() == std::vector<std::int64_t>{1, 3, 4});
  CHECK(place.read("ck/newest") == "ck-000004\n");
  CHECK(place.read("ck/ck-000004/manifest") == manifest_of(4, {}));
  folder.begin(4, "b");
  CHECK_THROWS_AS(folder.commit(4, "b", "another"), rt::RunError);
  CHECK(place.read("ck/ck-000004/manifest") == manifest_of(4, {}));
  folder.give_up(4, "b");
  folder.begin(9, "c");  // remains unfinished
  folder.begin(5, "d");
  folder.commit(5, "d", manifest_of(5, {}));
  folder.prune(2, "d", "");
  CHECK(folder.numbers() == std::vector<std::int64_t>{4, 5});
  CHECK_FALSE(std::filesystem::exists(folder.unfinished(9, "c")));
  // A base is removed with its checkpoint.
  folder.begin(6, "e", true);
  std::filesystem::remove(folder.unfinished_base(6, "e"));
  CHECK_THROWS_AS(folder.commit(6, "e", "text 6", true), rt::RunError);
  CHECK(folder.numbers() == std::vector<std::int64_t>{4, 5});
  std::filesystem::create_directory(folder.base(6));
  std::filesystem::create_directory(folder.base(5));
  folder.give_up(6, "e");
  folder.give_up(5, "e");
  CHECK_FALSE(std::filesystem::exists(folder.base(6)));
  CHECK(std::filesystem::exists(folder.base(5)));
  // An unreadable manifest may refer to any base; a missing one refers to none.
  std::filesystem::remove(Folder::manifest(folder.checkpoint(4)));
  std::filesystem::create_directory(Folder::manifest(folder.checkpoint(4)));
  folder.begin(9, "f");
  folder.prune(2, "g", "");
  CHECK(std::filesystem::exists(folder.base(5)));
  CHECK_FALSE(std::filesystem::exists(folder.unfinished(9, "f")));
  std::filesystem::remove(Folder::manifest(folder.checkpoint(4)));
  folder.prune(2, "g", "");
  CHECK_FALSE(std::filesystem::exists(folder.base(5)));
  // A damaged one may refer to any base too.
  std::filesystem::create_directory(folder.base(5));
  change_byte(Folder::manifest(folder.checkpoint(5)), 30);
  folder.sweep("g");
  CHECK(std::filesystem::exists(folder.base(5)));
  change_byte(Folder::manifest(folder.checkpoint(5)), 30);
  folder.sweep("g");
  CHECK_FALSE(std::filesystem::exists(folder.base(5)));
  CHECK_THROWS_AS(Folder(place / "ck/newest").prepare(), rt::RunError);
  CHECK_THROWS_AS(static_cast<void>(Folder(place / "none").numbers()), rt::RunError);
}

TEST_CASE("checkpoint: what another version has written stays") {
  const tests::TemporaryFolder place;
  const Folder folder(place / "ck");
  folder.prepare();
  folder.begin(1, "a", true);
  folder.commit(1, "a", of_version("3", manifest_of(1, {1})), true);
  folder.sweep("b");
  CHECK(std::filesystem::exists(folder.base(1)));
  for (const std::int64_t number : {2, 3, 4}) {
    folder.begin(number, "b", number == 2);
    folder.commit(number, "b", manifest_of(number, {}), number == 2);
    folder.prune(2, "b", "");
  }
  CHECK(folder.numbers() == std::vector<std::int64_t>{1, 3, 4});
  CHECK(std::filesystem::exists(folder.base(1)));
  std::filesystem::remove_all(folder.checkpoint(1));
  folder.sweep("b");
  CHECK_FALSE(std::filesystem::exists(folder.base(1)));
  CHECK_FALSE(std::filesystem::exists(folder.base(2)));
}

TEST_CASE("checkpoint: a file that is not there is damage, one that cannot be looked at is not") {
  const tests::TemporaryFolder place;
  const std::string path = place / "file", loop = place / "loop";
  CHECK_THROWS_WITH_AS(require_file(path), ("cannot open `" + path + "`: No such file or directory").c_str(), Absent);
  place.write("file", "");
  require_file(path);
  CHECK_THROWS_AS(require_file(path + "/below"), Absent);
  CHECK_THROWS_WITH_AS(require_file(place / ""), doctest::Contains("is not a regular file, but a directory"), Damaged);
  std::filesystem::create_symlink("loop", loop);
  require_file(loop);
  CHECK_THROWS_WITH_AS(RankFileReader(loop, {}), doctest::Contains("Too many levels of symbolic links"), rt::RunError);
}

namespace {

/// Ranks pass boundaries at different speeds; messages are delayed arbitrarily, but in order per pair of ranks.
class Agreement {
 public:
  Agreement(unsigned seed, int ranks, int length) : random_(seed), length_(length) {
    for (int r = 0; r < ranks; ++r) ranks_.push_back(std::make_unique<rt::Boundaries>(r, ranks));
    states_.resize(ranks_.size());
  }
  /// By rank: boundaries and the actions there.
  std::vector<std::map<int, rt::Wish>> run(int wishes) {
    while (step(wishes)) {}
    std::vector<std::map<int, rt::Wish>> done;
    for (const State& s : states_) done.push_back(s.done);
    return done;
  }

 private:
  using Message = rt::Boundaries::Message;
  struct State {
    int passed = 0;
    bool arrived = false;
    std::map<int, rt::Wish> done;
  };
  void send(int from, const Message& message) {
    using Kind = Message::Kind;
    if (message.kind == Kind::kNone) return;
    const bool to_first = message.kind == Kind::kWant || message.kind == Kind::kPassed;
    for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
      if (to != from && (to == 0 || !to_first)) queues_[{from, to}].push_back(message);
    }
  }
  bool step(int& wishes) {
    std::vector<std::pair<int, int>> moves;  // a message, or a rank and -1
    for (const auto& [pair, queue] : queues_) {
      if (!queue.empty()) moves.push_back(pair);
    }
    bool over = true;
    for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
      const State& s = states_[static_cast<std::size_t>(r)];
      over = over && s.passed == length_;
      if (s.passed < length_ && !(s.arrived && ranks_[static_cast<std::size_t>(r)]->waits())) moves.emplace_back(r, -1);
    }
    REQUIRE((over || !moves.empty()));  // otherwise there is a deadlock
    if (moves.empty()) return false;
    const auto [a, b] = moves[random_() % moves.size()];
    if (b >= 0) {
      const Message message = queues_[{a, b}].front();
      queues_[{a, b}].pop_front();
      send(b, ranks_[static_cast<std::size_t>(b)]->take(message));
      return true;
    }
    State& s = states_[static_cast<std::size_t>(a)];
    rt::Boundaries& rank = *ranks_[static_cast<std::size_t>(a)];
    if (!s.arrived) {
      s.arrived = true;
      const bool wants = wishes > 0 && random_() % 8 == 0;
      wishes -= wants ? 1 : 0;
      send(a, rank.arrive(!wants ? rt::Wish::kNone : random_() % 2 == 0 ? rt::Wish::kSave : rt::Wish::kStop));
      return true;
    }
    s.arrived = false;
    if (const rt::Wish here = rank.leave(); here != rt::Wish::kNone) s.done[s.passed] = here;
    ++s.passed;
    return true;
  }

  std::mt19937 random_;
  int length_;
  std::vector<std::unique_ptr<rt::Boundaries>> ranks_;
  std::vector<State> states_;
  std::map<std::pair<int, int>, std::deque<Message>> queues_;
};

}  // namespace

TEST_CASE("checkpoint: ranks agree on a boundary that none of them has passed") {
  int saved = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const int ranks = 1 + static_cast<int>(seed % 5);
    const auto done = Agreement(seed, ranks, 30).run(1 + static_cast<int>(seed % 3));
    for (const auto& one : done) REQUIRE(one == done.front());
    saved += static_cast<int>(done.front().size());
  }
  CHECK(saved > 300);
}

TEST_CASE("checkpoint: recording is a few seconds or one iteration ahead of execution") {
  rt::RunAhead slow;  // an iteration of four operations takes 6 s
  CHECK(slow.at_boundary(4, 0, 0) == 0);
  CHECK(slow.at_boundary(8, 0, 0.1) == 4);  // of two open boundaries the older one is waited for
  CHECK(slow.at_boundary(12, 4, 6) == 8);
  CHECK(slow.at_boundary(16, 8, 12) == 12);
  rt::RunAhead fast;  // an iteration takes 0.1 s
  CHECK(fast.at_boundary(4, 0, 0) == 0);
  for (plan::Index k = 2; k <= 101; ++k) CHECK(fast.at_boundary(4 * k, 4, 0.1) == 0);
  CHECK(fast.at_boundary(4 * 102, 4, 0.1) == 8);
}

TEST_CASE("checkpoint: times on the command line") {
  CHECK(rt::parse_duration("600", "--t") == 600);
  CHECK(rt::parse_duration("90s", "--t") == 90);
  CHECK(rt::parse_duration("10m", "--t") == 600);
  CHECK(rt::parse_duration("1.5h", "--t") == 5400);
  for (const char* text : {"", "m", "-1", "10d", "1m30"})
    CHECK_THROWS_AS(static_cast<void>(rt::parse_duration(text, "--t")), rt::RunError);
}
