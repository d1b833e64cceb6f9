#include "tools/tdslc/job/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "runtime/app/options/options.h"
#include "runtime/check.h"
#include "runtime/message_id.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

[[noreturn]] void site_error(const std::string& text) {
  throw rt::RunError(rt::with_id(text, "site-profile"), rt::ExitCode::kUsage);
}

/// True for values allowed in an `#SBATCH` line without quotes.
bool is_plain(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+.,:/@%=*&|()[]").find(c) != std::string_view::npos;
  });
}

bool is_printable(std::string_view value) {
  return std::ranges::all_of(value, [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 127; });
}

/// Reads one line.
class SiteReader {
 public:
  SiteReader(Site& site, std::string place, std::string value)
      : site_(site), place_(std::move(place)), value_(std::move(value)) {}

  /// False if the key is unknown.
  bool set(std::string_view key) {
    using Setter = void (*)(SiteReader&);
    static const std::map<std::string_view, Setter> kSetters = {
        {"partition", [](SiteReader& r) { r.site_.partition = r.plain(); }},
        {"account", [](SiteReader& r) { r.site_.account = r.plain(); }},
        {"launcher", [](SiteReader& r) { r.site_.launcher = r.launcher(); }},
        {"mpi", [](SiteReader& r) { r.site_.mpi = r.plain(); }},
        {"mpi_family", [](SiteReader& r) { r.site_.mpi_family = r.plain(); }},
        {"nodes", [](SiteReader& r) { r.site_.nodes = r.count(); }},
        {"cores", [](SiteReader& r) { r.site_.cores = r.count(); }},
        {"sockets", [](SiteReader& r) { r.site_.sockets = r.count(); }},
        {"memory", [](SiteReader& r) { r.site_.memory = r.bytes("memory"); }},
        {"max_time", [](SiteReader& r) { r.site_.max_time = r.time(); }},
        {"read_rate", [](SiteReader& r) { r.site_.read_rate = static_cast<double>(r.bytes("read_rate")); }},
        {"write_rate", [](SiteReader& r) { r.site_.write_rate = static_cast<double>(r.bytes("write_rate")); }},
        {"scratch", [](SiteReader& r) { r.site_.scratch = r.bytes("scratch"); }},
        {"spill_dir", [](SiteReader& r) { r.site_.spill_dir = r.folder(); }},
        {"machine", [](SiteReader& r) { r.site_.machine = r.printable(); }},
        {"option", [](SiteReader& r) { r.site_.options.push_back(r.option()); }},
        {"setup", [](SiteReader& r) { r.site_.setup.push_back(r.printable()); }}};
    const auto found = kSetters.find(key);
    if (found == kSetters.end()) return false;
    found->second(*this);
    return true;
  }

 private:
  [[noreturn]] void wrong(const std::string& expected) const {
    site_error(fmt::format("{}: `{}`: {} is expected", place_, value_, expected));
  }
  [[nodiscard]] std::int64_t bytes(const char* key) const { return rt::parse_bytes(value_, place_ + ": " + key); }
  [[nodiscard]] std::string plain() const {
    if (!is_plain(value_)) wrong("a name without blanks and quotes");
    return value_;
  }
  [[nodiscard]] std::string printable() const {
    if (!is_printable(value_)) wrong("text without control characters");
    return value_;
  }
  /// Must be valid between double quotes in a shell line.
  [[nodiscard]] std::string folder() const {
    const bool plain = std::ranges::all_of(value_, [](char c) {
      return c == '$' || c == '{' || c == '}' || (c != '(' && c != ')' && is_plain({&c, 1}));
    });
    if (!plain || (value_.front() != '/' && value_.front() != '$'))
      wrong("a folder such as /local or $TMPDIR, without blanks and quotes");
    return value_;
  }
  [[nodiscard]] std::string option() const {
    if (!value_.starts_with("--") || !is_printable(value_)) wrong("an option of sbatch, such as --constraint=ib,");
    return value_;
  }
  [[nodiscard]] JobLauncher launcher() const {
    if (value_ == "srun") return JobLauncher::kSrun;
    if (value_ != "mpirun") wrong("srun or mpirun");
    return JobLauncher::kMpirun;
  }
  [[nodiscard]] std::int64_t count() const {
    const auto number = number_in(value_);
    if (!number || *number < 1 || *number > 10'000'000) wrong("a number from 1 on");
    return *number;
  }
  [[nodiscard]] std::int64_t time() const {
    const auto seconds = seconds_in(value_);
    const bool unlimited = value_ == "UNLIMITED" || value_ == "infinite";
    if (!seconds || (*seconds == 0 && !unlimited))
      wrong("a time as Slurm writes it (HH:MM:SS, D-HH:MM:SS, UNLIMITED), above 0,");
    return *seconds;
  }

  Site& site_;
  std::string place_;
  std::string value_;
};

/// A partition from sinfo's output; minimum over differing nodes.
struct Partition {
  std::string name;
  bool runs = false;  ///< describes nodes that can run jobs; false: there are none, and it describes all nodes
  bool is_default = false, up = false, hardware_threads = false;
  std::int64_t nodes = 0, most_nodes = 0, cores = 0, sockets = 0, megabytes = 0, max_time = 0;
  std::optional<std::int64_t> disk_megabytes = std::nullopt;
};

std::int64_t least(std::int64_t before, std::int64_t now) { return before == 0 ? now : std::min(before, now); }

/// sinfo appends `+` to the minimum of differing values.
std::int64_t sinfo_number(std::string_view text) {
  if (text.ends_with('+')) text.remove_suffix(1);
  return number_in(text).value_or(0);
}

/// True if nodes in this state can run jobs, now or after their current jobs: not if they are down, drained, reserved
/// or unresponsive (`*`).
bool can_run_jobs(std::string_view state) {
  if (state.empty()) return true;  // unknown
  constexpr std::string_view kStates[] = {"idle", "mix", "alloc", "comp", "plan", "plnd"};
  return !state.ends_with('*') &&
         std::ranges::any_of(kStates, [&](std::string_view good) { return state.starts_with(good); });
}

/// The upper end of `1-4`, `4` or `1-infinite`; 0 if unlimited.
std::int64_t most_nodes_in(std::string_view range) {
  if (const std::size_t dash = range.find('-'); dash != std::string_view::npos) range.remove_prefix(dash + 1);
  const bool thousands = range.ends_with('K');
  if (thousands) range.remove_suffix(1);
  return number_in(range).value_or(0) * (thousands ? 1024 : 1);
}

std::vector<Partition> partitions_of(std::string_view nodes) {
  std::vector<Partition> partitions;
  for (const std::string_view line : parts_of(nodes, '\n')) {
    const std::vector<std::string_view> field = parts_of(trimmed(line), '|');
    if (field.size() < 10) continue;
    const auto further = [&](std::size_t k) { return k < field.size() ? trimmed(field[k]) : std::string_view(); };
    const bool is_default = field[0].ends_with('*');
    const std::string name(is_default ? field[0].substr(0, field[0].size() - 1) : field[0]);
    auto known = std::ranges::find(partitions, name, &Partition::name);
    if (known == partitions.end()) known = partitions.insert(known, Partition{.name = name});
    const bool runs = can_run_jobs(further(10));
    if (known->runs && !runs) continue;
    if (runs && !known->runs) *known = Partition{.name = name, .runs = true};  // nodes that cannot run jobs are ignored
    known->is_default = is_default;
    known->most_nodes = most_nodes_in(further(11));
    known->up = field[8] == "up";
    known->nodes += sinfo_number(field[1]);
    known->sockets = least(known->sockets, std::max<std::int64_t>(1, sinfo_number(field[3])));
    // CPUs may be hardware threads; TDSL uses one thread per core.
    const std::int64_t cores = sinfo_number(field[3]) * sinfo_number(field[4]);
    known->cores = least(known->cores, std::min(sinfo_number(field[2]), cores > 0 ? cores : sinfo_number(field[2])));
    known->hardware_threads |= sinfo_number(field[5]) > 1;
    known->megabytes = least(known->megabytes, sinfo_number(field[6]));
    known->disk_megabytes = std::min(known->disk_megabytes.value_or(sinfo_number(field[9])), sinfo_number(field[9]));
    known->max_time = seconds_in(field[7]).value_or(0);
  }
  return partitions;
}

/// The value of a line `name = value` in Slurm's configuration.
std::string setting(std::string_view configuration, std::string_view name) {
  for (const std::string_view line : parts_of(configuration, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == name)
      return std::string(trimmed(line.substr(equals + 1)));
  }
  return {};
}

bool lists_pmix(std::string_view plugins) {
  for (const std::string_view line : parts_of(plugins, '\n')) {
    const std::string_view name = trimmed(line);
    if (name == "pmix" || name.ends_with(": pmix")) return true;
  }
  return false;
}

std::string megabytes_text(std::int64_t bytes) { return fmt::format("{}MiB", bytes >> 20); }

std::string scratch_text(std::int64_t bytes) { return bytes == 0 ? "" : megabytes_text(bytes); }

std::string time_text(std::int64_t seconds) { return seconds == 0 ? "UNLIMITED" : slurm_time(seconds); }

const char* launcher_name(JobLauncher launcher) { return launcher == JobLauncher::kSrun ? "srun" : "mpirun"; }

void check_complete(const Site& site, const std::string& path) {
  const std::pair<const char*, std::int64_t> kNeeded[] = {
      {"nodes", site.nodes}, {"cores", site.cores}, {"memory", site.memory}};
  for (const auto& [key, value] : kNeeded) {
    if (value <= 0) site_error(fmt::format("{}: `{} = …` is missing: `tdslc doctor --site` proposes it", path, key));
  }
  if (site.sockets > site.cores)
    site_error(fmt::format("{}: {} sockets have only {} cores", path, site.sockets, site.cores));
  if (!(site.read_rate > 0) || !(site.write_rate > 0)) site_error(path + ": read_rate and write_rate must be above 0");
}

}  // namespace

Site parse_site(std::string_view text, const std::string& path) {
  Site site;
  int number = 0;
  for (const std::string_view whole : parts_of(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#') continue;
    const std::string place = fmt::format("{}:{}", path, number);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) site_error(place + ": expected `key = value`");
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string value(trimmed(line.substr(equals + 1)));
    if (value.empty()) continue;
    if (!SiteReader(site, place, value).set(key)) site_error(fmt::format("{}: unknown key `{}`", place, key));
  }
  check_complete(site, path);
  return site;
}

std::string site_text(const Site& site) {
  std::string text = "# How jobs are submitted here: proposed by `tdslc doctor --site`, to be corrected by people.\n";
  const auto line = [&text](std::string_view key, const std::string& value, std::string_view explained) {
    const std::string entry = fmt::format("{} = {}", key, value);
    text += explained.empty() ? entry + "\n" : fmt::format("# {}\n{}\n", explained, entry);
  };
  line("partition", site.partition, "empty: the default one");
  line("account", site.account, "empty: the user's default one");
  line("launcher", launcher_name(site.launcher), "srun, or Open MPI's mpirun");
  line("mpi", site.mpi, "srun's plugin (srun --mpi=list)");
  line("mpi_family", site.mpi_family,
       "MPI library (`tdslc mpi`); empty: the launcher's; in lib/tdsl/site.conf of the installation also for other "
       "programs whose launcher does not tell");
  line("nodes", fmt::format("{}", site.nodes), "that a job can have");
  line("cores", fmt::format("{}", site.cores), "of a node");
  line("sockets", fmt::format("{}", site.sockets), "of a node; each has a rank");
  line("memory", megabytes_text(site.memory), "of a node, for a job");
  line("max_time", time_text(site.max_time), "D-HH:MM:SS");
  line("read_rate", fmt::format("{:.0f}", site.read_rate),
       "bytes per second that a job reads from files and writes to them");
  line("write_rate", fmt::format("{:.0f}", site.write_rate), "");
  line("scratch", scratch_text(site.scratch),
       "of a node's own disk, for a job whose tensors do not fit into memory (Slurm's TmpDisk, of which --tmp asks for "
       "a part); empty: not known");
  line("spill_dir", site.spill_dir,
       "its folder, such as /local or $TMPDIR; empty: the program takes $SLURM_TMPDIR, $TMPDIR, where it writes "
       "results, or /tmp");
  line("machine", site.machine,
       "constants measured by `tdslc doctor` on a node of the partition; empty: those of the machine that submits");
  for (const std::string& option : site.options) line("option", option, "");
  if (site.options.empty()) text += "# further options of sbatch, one per line\n# option = --constraint=ib\n";
  for (const std::string& setup : site.setup) line("setup", setup, "");
  if (site.setup.empty()) text += "# shell lines before the program starts\n# setup = module load openmpi\n";
  return text;
}

Site propose_site(std::string_view nodes, std::string_view plugins, std::string_view configuration,
                  std::string_view wanted) {
  const std::vector<Partition> partitions = partitions_of(nodes);
  auto chosen = std::ranges::find_if(
      partitions, [&](const Partition& p) { return p.up && (wanted.empty() ? p.is_default : p.name == wanted); });
  if (chosen == partitions.end()) chosen = std::ranges::find_if(partitions, [](const Partition& p) { return p.up; });
  if (chosen == partitions.end())
    throw rt::RunError("sinfo shows no partition that is up [batch-system]", rt::ExitCode::kRunTime);
  Site site;
  site.partition = chosen->name;
  site.launcher = lists_pmix(plugins) ? JobLauncher::kSrun : JobLauncher::kMpirun;
  site.nodes = chosen->most_nodes > 0 ? std::min(chosen->nodes, chosen->most_nodes) : chosen->nodes;
  site.cores = std::max<std::int64_t>(1, chosen->cores);
  site.sockets = std::min(chosen->sockets, site.cores);
  // Makes --cpus-per-task count cores.
  if (chosen->hardware_threads) site.options.emplace_back("--threads-per-core=1");
  site.memory = chosen->megabytes << 20;
  const auto most = number_in(setting(configuration, "MaxMemPerNode"));
  if (most && *most > 0) site.memory = std::min(site.memory, *most << 20);
  site.max_time = chosen->max_time;
  site.scratch = chosen->disk_megabytes.value_or(0) << 20;
  if (site.scratch > 0) site.spill_dir = setting(configuration, "TmpFS");
  return site;
}

std::vector<std::string> site_differences(const Site& file, const Site& cluster) {
  std::vector<std::string> differences;
  const auto compare = [&](const char* key, const std::string& mine, const std::string& theirs) {
    if (mine != theirs)
      differences.push_back(
          fmt::format("{}: the profile says {}, the cluster {}", key, mine.empty() ? "nothing" : mine, theirs));
  };
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  compare("partition", file.partition, cluster.partition);
  compare("launcher", launcher_name(file.launcher), launcher_name(cluster.launcher));
  compare("nodes", number(file.nodes), number(cluster.nodes));
  compare("cores", number(file.cores), number(cluster.cores));
  compare("sockets", number(file.sockets), number(cluster.sockets));
  compare("memory", megabytes_text(file.memory), megabytes_text(cluster.memory));
  if (cluster.scratch > 0) compare("scratch", scratch_text(file.scratch), scratch_text(cluster.scratch));
  compare("max_time", time_text(file.max_time), time_text(cluster.max_time));
  return differences;
}

}  // namespace tdsl::tools
