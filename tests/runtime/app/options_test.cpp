#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/app/options/options.h"
#include "runtime/app/run/run_files.h"
#include "runtime/message_id.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;

namespace {

ProgramDeclaration ridge() {
  return {"ridge",
          "ridge.tdsl",
          "ridge 1.0",
          {{"lambda", ElementType::kF64, "1e-3"}, {"steps", ElementType::kI32, {}}, {"tile", ElementType::kI64, "4"}},
          {{"X", "f64[n, d]"}, {"n", "f64[n]"}},
          {{"w", "f64[d]"}},
          {"n", "d"}};
}

AppOptions parse(std::vector<std::string> arguments) {
  for (const char* required : {"--steps=3", "--X=x.npy", "--n=y.npy"}) { arguments.emplace_back(required); }
  return parse_options(ridge(), arguments);
}

std::string usage_error(const std::vector<std::string>& arguments) {
  try {
    (void)parse(arguments);
  } catch (const RunError& error) {
    CHECK(error.exit_code() == 2);
    return without_id(error.what());
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("program options in both spellings") {
  const AppOptions options = parse({"--lambda", "-2.5", "--w=out.npy"});
  CHECK(options.param<double>("lambda", 1e-3) == -2.5);
  CHECK(options.param<std::int32_t>("steps") == 3);
  CHECK(options.param<std::int64_t>("tile", 4) == 4);
  CHECK(options.inputs.at("X") == "x.npy");
  CHECK(options.outputs.at("w") == "out.npy");
}

namespace {

/// The message about a run's files, or "".
std::string collision(const AppOptions& options) {
  try {
    RunFiles files{Environment{}};
    files.keep_named("ridge.tdsl", "the program itself");
    files.add(options);
  } catch (const RunError& error) {
    CHECK(error.exit_code() == (contains(error.what(), "No such file") ? 1 : 2));
    return without_id(error.what());
  }
  return "";
}

}  // namespace

TEST_CASE("files of a run: two outputs are not written to one file") {
  const tdsl::tests::TemporaryFolder folder;
  ProgramDeclaration program = ridge();
  program.outputs.push_back({"loss", "f64"});
  const auto files = [&](const std::string& w, const std::string& loss) {
    return collision(parse_options(program, std::vector<std::string>{"--steps=3", "--X=x.npy", "--n=y.npy", "--w",
                                                                     folder / w, "--loss", folder / loss}));
  };
  CHECK(files("a.npy", "b.npy").empty());
  CHECK(files("a.h5:/w", "a.h5:/loss").empty());
  CHECK(contains(files("a.h5:/w", "./a.h5:/w"), "output loss and output w would both be written to"));
  CHECK(contains(files("a.npy", "./a.npy"), "output loss and output w would both be written to"));
  CHECK(contains(files("a.zarr", "a.zarr/b.npy"), "output loss and output w would both be written to"));
  const std::string a = folder.write("a.npy", "");
  std::filesystem::create_hard_link(a, folder / "b.npy");
  CHECK(contains(files("a.npy", "b.npy"), "output loss and output w would both be written to"));
  CHECK(contains(collision(parse({"--w", a, "--stats", folder / "./a.npy"})),
                 "output w and --stats would both be written to"));
  CHECK(collision(parse({"--stats", "/dev/null", "--plan", "/dev/null"})).empty());
}

TEST_CASE("files of a run: a file that has been replaced contains no other") {
  const tdsl::tests::TemporaryFolder folder;
  const int file = ::open(folder.write("machine", "").c_str(), O_RDONLY | O_CLOEXEC);
  std::filesystem::remove(folder / "machine");
  RunFiles files{Environment{}};
  files.keep("/proc/self/fd/" + std::to_string(file), "the machine's constants");
  CHECK_NOTHROW(files.write("output w", folder / "w.npy"));
  CHECK_THROWS_AS(files.write("output w", "/proc/self/fd/" + std::to_string(file)), RunError);
  ::close(file);
}

TEST_CASE("files of a run: nothing that is read is replaced, under whatever name") {
  const tdsl::tests::TemporaryFolder folder;
  namespace fs = std::filesystem;
  const std::string x = folder.write("x.npy", ""), plan = folder.write("p.plan", ""),
                    dataset = folder.write("x.h5", "");
  fs::create_hard_link(x, folder / "hard.json");
  fs::create_symlink(x, folder / "soft.json");
  for (const char* name : {"a.zarr", "ck", "ck/ck-000001", "there"}) fs::create_directory(folder / name);
  fs::create_directory_symlink(folder / "a.zarr", folder / "b");
  for (const char* name : {"a.zarr/.zarray", "ck/ck-000001/manifest", "ck/mine.json", "ridge.tdsl"})
    (void)folder.write(name, "");
  const auto with = [&](const std::string& input, std::vector<std::string> more) {
    for (const char* required : {"--steps=3", "--n=y.npy"}) more.emplace_back(required);
    more.push_back("--X=" + input);
    return collision(parse_options(ridge(), more));
  };
  for (const char* name : {"x.npy", "there/../x.npy", "hard.json", "soft.json"}) {
    for (const char* option : {"--stats", "--plan", "--save-plan", "--trace", "--w"}) {
      CHECK(contains(with(x, {option, folder / name}), "): it is input X; choose another name"));
    }
  }
  CHECK(contains(with(dataset + ":/X", {"--w", dataset + ":/w"}), "it is input X"));
  CHECK(contains(with(folder / "a.zarr/", {"--stats", folder / "b/.zarray"}), "it lies in input X"));
  CHECK(contains(with(folder / "a.zarr", {"--w", folder / "b"}), "it is input X"));
  CHECK(contains(with(folder / "a.zarr/.zarray", {"--w", folder / "a.zarr"}), "input X lies in it"));
  CHECK(contains(with(x, {"--use-plan", plan, "--save-plan", plan}), "it is the plan that --use-plan reads"));
  CHECK(contains(with(x, {"--resume", folder / "ck", "--stats", folder / "ck/ck-000001/manifest"}),
                 "it lies in a checkpoint"));
  CHECK(contains(with(x, {"--checkpoint", folder / "ck", "--stats", folder / "ck/newest"}),
                 "--checkpoint and --stats would both"));
  CHECK(with(x, {"--checkpoint", folder / "new", "--stats", folder / "new/stats.json"}).empty());
  CHECK(contains(with(x, {"--stats", folder / "new/stats.json"}), "No such file"));
  CHECK(
      with(x, {"--checkpoint", folder / "ck", "--resume", folder / "ck", "--stats", folder / "ck/mine.json"}).empty());
  CHECK(
      contains(with(x, {"--save-plan", fs::read_symlink("/proc/self/exe").string()}), "it is the running executable"));
  CHECK(contains(with(x, {"--trace", folder / "ridge.tdsl"}), "it is the program itself"));
  CHECK(with(x, {"--trace", folder / "there/ridge.tdsl"}).empty());  // a new file
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const char* option : {"--stats", "--plan", "--save-plan"}) {
    CHECK(contains(with(x, {option, folder / "pipe"}), "pipe`: it is a pipe (FIFO), not a regular file"));
  }
}

TEST_CASE("built-in options") {
  const AppOptions options = parse({"--tile", "256,512", "--threads=2", "--seed", "42", "--window", "1.5MiB", "--stats",
                                    "s.json", "--plan=p.json", "--dry-run", "--quiet"});
  CHECK(options.tile == std::vector<std::int64_t>{256, 512});
  CHECK(options.threads == 2);
  CHECK(options.seed == 42);
  CHECK(options.window_bytes == 3 * 512 * 1024);
  CHECK(options.stats_file == "s.json");
  CHECK(options.plan_file == "p.json");
  CHECK(options.dry_run);
  CHECK(options.quiet);
}

TEST_CASE("--factorise names the form") {
  CHECK(parse({}).factorise == tdsl::plan::Factorise::kAuto);
  CHECK(parse({"--factorise", "local"}).factorise == tdsl::plan::Factorise::kLocal);
  CHECK(parse({"--factorise=distributed"}).factorise == tdsl::plan::Factorise::kDistributed);
  CHECK(parse({"--factorise=indirect"}).factorise == tdsl::plan::Factorise::kIndirect);
  CHECK_THROWS_AS(parse({"--factorise", "here"}), RunError);
  using tdsl::plan::distributes;
  CHECK_FALSE(distributes(tdsl::plan::Factorise::kAuto, 4, 1 << 20));
  CHECK(distributes(tdsl::plan::Factorise::kAuto, 4, (1 << 20) + 8));
  CHECK_FALSE(distributes(tdsl::plan::Factorise::kAuto, 1, 1 << 30));
  CHECK(distributes(tdsl::plan::Factorise::kDistributed, 1, 8));
}

TEST_CASE("--set reaches the program's names behind built-ins, and dimensions") {
  const AppOptions options = parse({"--tile", "8", "--set", "tile=9", "--set=d=1_000", "--set", "n=7"});
  CHECK(options.tile == std::vector<std::int64_t>{8});
  CHECK(options.param<std::int64_t>("tile", 4) == 9);
  CHECK(options.dimensions.at("d") == 1000);
  CHECK(options.dimensions.at("n") == 7);
  const std::vector<std::string> all_by_set{"--set", "steps=1", "--set", "X=x=1.npy", "--set", "n=y.npy"};
  CHECK(parse_options(ridge(), all_by_set).inputs.at("X") == "x=1.npy");
  CHECK(parse_options(ridge(), all_by_set).inputs.at("n") == "y.npy");
}

TEST_CASE("nothing is required for --help, and inputs not where --set stands in for them") {
  CHECK(parse_options(ridge(), std::vector<std::string>{"--help"}).help);
  CHECK(parse_options(ridge(), std::vector<std::string>{"-h"}).help);
  CHECK(parse_options(ridge(), std::vector<std::string>{"--version"}).version);
  const std::vector<std::string> steps{"--steps", "3"};
  CHECK_NOTHROW((void)parse_options(ridge(), steps, {.inputs_required = false}));
  CHECK_THROWS_WITH_AS(
      (void)parse_options(ridge(), std::vector<std::string>{}),
      "missing: [missing-input]\n  --steps VALUE    param of type i32\n  --X FILE    input of type f64[n, d]\n"
      "  --n FILE    input of type f64[n]\n(see --help)",
      RunError);
}

TEST_CASE("usage errors") {
  CHECK(usage_error({"--lamda", "3"}) == "unknown option --lamda; did you mean --lambda?");
  CHECK(usage_error({"--thread=3"}) == "unknown option --thread; did you mean --threads?");
  CHECK(usage_error({"--zzz"}) == "unknown option --zzz (see --help)");
  CHECK(usage_error({"--d", "3"}) == "--d: d is a dimension; fix its extent with --set d=VALUE");
  CHECK(usage_error({"x.npy"}) == "unexpected argument `x.npy`; options have the form --NAME VALUE (see --help)");
  CHECK(usage_error({"--lambda", "abc"}) == "--lambda: `abc` is not a number (f64), for example 1e-3");
  CHECK(usage_error({"--lambda", "1.0x"}) == "--lambda: `1.0x` is not a number (f64), for example 1e-3");
  CHECK(usage_error({"--lambda"}) == "--lambda needs a value");
  CHECK(usage_error({"--lambda", "--quiet"}) == "--lambda needs a value");
  CHECK(usage_error({"--lambda=1", "--set", "lambda=2"}) == "lambda is given twice");
  CHECK(usage_error({"--quiet", "--quiet"}) == "--quiet is given twice");
  CHECK(usage_error({"--quiet=1"}) == "--quiet takes no value");
  CHECK(parse({}).time_tile == 1);
  CHECK(parse({"--time-tile", "8"}).time_tile == 8);
  CHECK(parse({"--time-tile=auto"}).time_tile == 0);
  CHECK(usage_error({"--time-tile", "0"}) == "--time-tile: `0` is not a number of at least 1");
  CHECK(usage_error({"--time-tile", "65"}) == "--time-tile: at most 64 steps, not 65");
  CHECK(usage_error({"--threads", "0"}) == "--threads: `0` is not a number of at least 1");
  CHECK(usage_error({"--threads", "100000"}) == "--threads: a rank has at most 4096 threads, not 100000");
  CHECK(usage_error({"--set", "q=3"}) == "--set: ridge has no param, input, output or dimension `q`");
  CHECK(usage_error({"--set", "lambada=3"}) ==
        "--set: ridge has no param, input, output or dimension `lambada`; did you mean `lambda`?");
  CHECK(usage_error({"--set", "lambda"}) == "--set: `lambda` has not the form NAME=VALUE");
  CHECK(usage_error({"--set", "d=-3"}) == "--set d: an extent is not negative");
  CHECK(usage_error({"--set", "tile=2.5"}) == "--set tile: `2.5` is not an integer (i64), for example 12");
  CHECK(contains(usage_error({"--w", ""}), "--w needs a file name"));
}

TEST_CASE("kinds of numbers to look for") {
  CHECK((parse_number_kinds("nan", "x").nan && !parse_number_kinds("nan", "x").inf));
  CHECK((parse_number_kinds("inf,nan", "x").nan && parse_number_kinds("inf,nan", "x").inf));
  CHECK(!parse_number_kinds("bounds", "x").any());
  CHECK(usage_error({"--check=nan,"}) == "--check: `` is not nan, inf or bounds");
  CHECK(usage_error({"--check", "zero"}) == "--check: `zero` is not nan, inf or bounds");
}

TEST_CASE("sizes") {
  CHECK(parse_bytes("512", "x") == 512);
  CHECK(parse_bytes("512B", "x") == 512);
  CHECK(parse_bytes("512MiB", "x") == std::int64_t{512} << 20);
  CHECK(parse_bytes("2G", "x") == std::int64_t{2} << 30);
  CHECK(parse_bytes("2k", "x") == 2048);
  CHECK(parse_bytes("1.5GB", "x") == 1500000000);
  CHECK(parse_bytes("1TiB", "x") == std::int64_t{1} << 40);
  for (const char* bad : {"", "G", "-1", "5X", "5Gi B", "1e3", "0", "1..5", "99999999T"}) {
    CHECK_THROWS_AS((void)parse_bytes(bad, "x"), RunError);
  }
  // Suggested sizes have the option's unit and are sufficient.
  CHECK(option_size(3221225473, "3GB") == "3.23GB");
  CHECK(option_size(3221225472, "3GiB") == "3.00GiB");
  CHECK(option_size(3221225473, "1.5G") == "3.01G");
  CHECK(option_size(3221225472, "512") == "3221225472");
  CHECK(shown_size(3220000000, "3GB") == "3.22 GB");
  CHECK(shown_size(3221225472, "512B") == "3.0 GiB");
  CHECK(shown_size(0, "3GB") == "0 GB");
  CHECK(shown_size(1, "3GB") == "0.01 GB");
  for (const char* const like : {"1k", "1KB", "1MiB", "2MB", "1G", "1TB"}) {
    for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 50; bytes = bytes * 7 + 3)
      CHECK(parse_bytes(option_size(bytes, like), "x") >= bytes);
  }
}

TEST_CASE("tiles") {
  CHECK(parse_tile("7", "x") == std::vector<std::int64_t>{7});
  CHECK(parse_grid("16x1x1", "x") == std::vector<std::int64_t>{16, 1, 1});
  for (const char* bad : {"", "x", "4x", "0x1", "4,1"}) CHECK_THROWS_AS((void)parse_grid(bad, "x"), RunError);
  for (const char* bad : {"", "0", "1,", ",1", "1,-2", "a", "1,1,1,1,1,1,1,1,1"}) {
    CHECK_THROWS_AS((void)parse_tile(bad, "x"), RunError);
  }
}

TEST_CASE("scalars") {
  CHECK(std::get<bool>(parse_scalar(ElementType::kBool, "true", "x")));
  CHECK_THROWS_AS((void)parse_scalar(ElementType::kBool, "yes", "x"), RunError);
  CHECK(std::get<std::int32_t>(parse_scalar(ElementType::kI32, "-1_000", "x")) == -1000);
  CHECK(std::get<std::int32_t>(parse_scalar(ElementType::kI32, "+5", "x")) == 5);
  CHECK_THROWS_WITH_AS((void)parse_scalar(ElementType::kI32, "3000000000", "--k"),
                       "--k: 3000000000 does not fit into i32 (-2147483648 to 2147483647) [bad-option]", RunError);
  CHECK_THROWS_AS((void)parse_scalar(ElementType::kI64, "2.5", "x"), RunError);
  CHECK(std::get<float>(parse_scalar(ElementType::kF32, "0.1", "x")) == 0.1F);
  CHECK(std::get<double>(parse_scalar(ElementType::kF64, "3", "x")) == 3.0);
  CHECK(std::isinf(std::get<double>(parse_scalar(ElementType::kF64, "-inf", "x"))));
  CHECK(std::isnan(std::get<double>(parse_scalar(ElementType::kF64, "nan", "x"))));
  for (const char* bad : {"1_", "_1", "1__0", "+-1", "1e999", " 1", "0x10"}) {
    CHECK_THROWS_AS((void)parse_scalar(ElementType::kF64, bad, "x"), RunError);
  }
}

TEST_CASE("help lists everything with examples") {
  const std::string help = help_text(ridge());
  for (const char* part : {"--lambda VALUE", "f64, default 1e-3", "--steps VALUE", "i32, required", "--set tile=VALUE",
                           "--X FILE", "f64[n, d], required", "--w FILE", "--dry-run", "--threads N",
                           "mpirun -n 4 ./ridge --steps 10 --X X.npy", "--set n=1000", "Exit codes"}) {
    CHECK_MESSAGE(contains(help, part), part);
  }
}
