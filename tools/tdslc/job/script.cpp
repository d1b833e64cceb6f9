#include "tools/tdslc/job/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

/// Number of consecutive requeues without a new checkpoint.
constexpr int kFruitlessRequeues = 3;

/// A comment reduced to one line.
std::string comment(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return "# " + text + "\n";
}

std::string counted(std::int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

/// The profile's spill folder; empty if it is not needed.
std::string spill_folder(const ScriptRequest& r) {
  return r.size.disk_megabytes > 0 && !r.spill_given ? r.site.spill_dir : std::string();
}

bool has_variables(const std::string& folder) { return folder.find('$') != std::string::npos; }

/// `TMPDIR` for `$TMPDIR` and `${TMPDIR}`; empty if the folder is more than a variable.
std::string only_variable(const std::string& folder) {
  if (!folder.starts_with('$')) return {};
  std::string name = folder.substr(1);
  if (name.size() > 2 && name.front() == '{' && name.back() == '}') name = name.substr(1, name.size() - 2);
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return std::ranges::all_of(name, is_of_name) ? name : std::string();
}

/// Variables are expanded on each node, because they may differ from those of the host that runs the script. If the
/// folder is a single unset variable, the program selects a folder itself.
std::string spilling_task(const std::string& folder) {
  const std::string name = only_variable(folder);
  const std::string option =
      name.empty() ? "--spill \"" + folder + "\"" : fmt::format("${{{0}:+--spill \"${0}\"}}", name);
  return fmt::format("sh -c 'exec \"$0\" \"$@\" {}' ", option);
}

/// Arguments added to the user's.
std::string own_arguments(const ScriptRequest& r) {
  std::string text;
  if (r.size.program_memory > 0) text += fmt::format(" --memory {}", r.size.program_memory);
  if (const std::string folder = spill_folder(r); !folder.empty() && !has_variables(folder))
    text += " --spill \"" + folder + "\"";
  if (!r.checkpoint.empty()) text += " --checkpoint \"$ck\" --resume \"$ck\"";
  return text;
}

class ScriptWriter {
 public:
  explicit ScriptWriter(const ScriptRequest& request) : r_(request) {}

  std::string run() {
    text_ = "#!/bin/sh\n";
    reasons();
    slurm_options();
    before();
    arguments();
    if (r_.checkpoint.empty()) {
      text_ += launch() + "\ncode=$?\n";
    } else {
      with_checkpoints();
    }
    after();
    return std::move(text_);
  }

 private:
  [[nodiscard]] bool is_array() const { return !r_.elements.front().values.empty(); }

  void reasons() {
    const JobShape& shape = r_.size.shape;
    const JobEstimate& e = r_.size.estimate;
    text_ += comment(fmt::format("{}, {}: {} x {} x {}", r_.source, kScriptSign, counted(shape.nodes, "node"),
                                 counted(shape.ranks_per_node, "rank"), counted(shape.threads, "thread")));
    std::string memory = fmt::format("Memory: a rank needs {} of blocks", binary_bytes(e.peak));
    if (!e.largest.empty()) memory += fmt::format(" ({})", e.largest);
    memory +=
        fmt::format(" of {} that it may have, and {} besides", binary_bytes(static_cast<double>(r_.size.rank_limit)),
                    binary_bytes(static_cast<double>(kProcessBytes)));
    if (r_.size.too_few) {
      memory += fmt::format("; on {} {}, which does not fit", counted(r_.size.too_few->first, "node"),
                            binary_bytes(r_.size.too_few->second));
    }
    text_ += comment(memory);
    if (is_array() && r_.planned > 0) {
      const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
      text_ += comment(fmt::format("Sweep: {}, {} of them, {} planned: the numbers here are the greatest",
                                   counted(number(r_.elements.size()), "element"), counted(number(r_.kinds), "kind"),
                                   r_.planned));
    }
    if (e.spills) text_ += comment("Disk: " + e.homes + disk());
    if (r_.size.program_memory > 0 && !e.spills)
      text_ += comment("Without a limit the plan would need more: --memory makes it a leaner one");
    times(e);
  }

  /// Requirements for node-local disk.
  [[nodiscard]] std::string disk() const {
    if (r_.size.disk_megabytes == 0) return {};
    const std::string node =
        "; a node needs room for " + binary_bytes(static_cast<double>(r_.size.disk_megabytes << 20));
    if (r_.site.scratch == 0) return node + ", and the profile does not say how much it has (scratch)";
    return node + fmt::format(" of {} (--tmp)", binary_bytes(static_cast<double>(r_.site.scratch)));
  }

  /// Advice for jobs killed for memory.
  [[nodiscard]] std::string more_memory() const {
    if (const std::int64_t twice = 2 * r_.size.node_megabytes; twice <= r_.site.memory >> 20)
      return fmt::format("tdslc submit --mem {}M asks for twice as much", twice);
    const std::int64_t nodes = std::min(2 * r_.size.shape.nodes, r_.site.nodes);
    if (nodes > r_.size.shape.nodes)
      return fmt::format("a node has no more than {} MiB: tdslc submit --nodes {} takes more of them",
                         r_.site.memory >> 20, nodes);
    return fmt::format("a node has no more than {} MiB, and no job more nodes", r_.site.memory >> 20);
  }

  void times(const JobEstimate& e) {
    const std::string files =
        fmt::format("files {} read, {} written", binary_bytes(e.read_bytes), binary_bytes(e.written_bytes));
    if (!e.unknown.empty()) {
      text_ += comment(fmt::format("Time: as given, since {}; {}", e.unknown, files));
    } else {
      text_ += comment(fmt::format("Time: {} are predicted, {} to {} with files{}; {}", rough_time(e.seconds),
                                   rough_time(r_.size.low), rough_time(r_.size.high),
                                   e.loops.empty() ? "" : ": " + e.loops, files));
    }
    if (!r_.checkpoint.empty() && r_.size.wanted_lead > kMostLead) {
      text_ += comment(fmt::format(
          "Signal: as early as Slurm gives one; {} would be wanted for two slow iterations and two checkpoints",
          rough_time(r_.size.wanted_lead)));
    }
    if (r_.size.requeues > 0)
      text_ += comment(fmt::format("That is more than the time limit: about {}", counted(r_.size.requeues, "requeue")));
  }

  void slurm_options() {
    const JobShape& shape = r_.size.shape;
    const auto line = [this](const std::string& options) { text_ += "#SBATCH " + options + "\n"; };
    line("--job-name=" + job_name(r_.name));
    if (!r_.site.partition.empty()) line("--partition=" + r_.site.partition);
    if (!r_.site.account.empty()) line("--account=" + r_.site.account);
    std::string tasks = fmt::format("--nodes={} --ntasks-per-node={}", shape.nodes, shape.ranks_per_node);
    if (is_uneven()) tasks += fmt::format(" --ntasks={}", shape.ranks);
    line(fmt::format("{} --cpus-per-task={} --mem={}M --time={}", tasks, shape.threads, r_.size.node_megabytes,
                     slurm_time(r_.size.seconds)));
    if (r_.size.disk_megabytes > 0 && r_.site.scratch > 0) line(fmt::format("--tmp={}M", r_.size.disk_megabytes));
    if (is_array()) line(fmt::format("--array=0-{}", r_.elements.size() - 1));
    line((r_.checkpoint.empty() ? "" : fmt::format("--signal=B:USR1@{} ", r_.size.signal_lead)) +
         "--requeue --open-mode=append --output=" + log_pattern(r_));
    for (const std::string& option : r_.site.options) line(option);
  }

  [[nodiscard]] bool is_uneven() const {
    return r_.size.shape.nodes * r_.size.shape.ranks_per_node != r_.size.shape.ranks;
  }

  void before() {
    if (!r_.checkpoint.empty()) {
      text_ += "told=\nrun=\n";
      text_ +=
          "trap 'told=1; [ -z \"$run\" ] || { touch \"$run.told\"; [ ! -s \"$run\" ] || kill -USR1 \"$(cat "
          "\"$run\")\"; } 2>/dev/null' USR1"
          "  # first: a signal before this line would end the job\n";
    }
    for (const std::string& setup : r_.site.setup) text_ += setup + "\n";
    if (!r_.site.machine.empty()) text_ += "export TDSL_MACHINE=" + shell_quoted(r_.site.machine) + "\n";
    if (!r_.site.mpi_family.empty()) text_ += "export TDSL_MPI=" + shell_quoted(r_.site.mpi_family) + "\n";
    if (r_.site.launcher == JobLauncher::kSrun) {
      text_ += "export SRUN_CPUS_PER_TASK=\"$SLURM_CPUS_PER_TASK\"  # Slurm 22.05 and later does not pass it on\n";
      if (r_.site.mpi.starts_with("pmix"))
        text_ +=
            "export SLURM_PMIX_FENCE=\"${SLURM_PMIX_FENCE:-ring}\"  # else ranks may get through MPI_Init before "
            "others are ready, which crash then\n";
      if (is_uneven()) text_ += "unset SLURM_NTASKS_PER_NODE  # srun takes it for the number on every node\n";
    } else if (r_.root) {
      text_ += "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n";
    }
    if (r_.checksum.empty()) return;
    const std::string file = shell_quoted(r_.executable);
    text_ += fmt::format("if [ \"$(cksum <{})\" != '{}' ]; then\n", file, r_.checksum);
    text_ +=
        fmt::format("    echo {} >&2\n",
                    shell_quoted(r_.executable + " is not the file that this job was submitted with: submit it again"));
    text_ += "    exit 2\nfi\n";
  }

  /// Sets "$@" to the arguments of this job's array element.
  void arguments() {
    if (!is_array()) return;
    text_ += "case $SLURM_ARRAY_TASK_ID in\n";
    for (std::size_t k = 0; k < r_.elements.size(); ++k)
      text_ += fmt::format("    {}) set -- {} ;;\n", k, shell_quoted(r_.elements[k].arguments));
    text_ += "esac\n";
  }

  [[nodiscard]] std::string launch() const {
    const std::string program = shell_quoted(r_.executable);
    const std::string given = is_array() ? "\"$@\"" : shell_quoted(r_.elements.front().arguments);
    const std::string folder = spill_folder(r_);
    return launcher() + " \\\n    " + (has_variables(folder) ? spilling_task(folder) : "") + program +
           (given.empty() ? "" : " " + given) + own_arguments(r_);
  }

  [[nodiscard]] std::string launcher() const {
    const JobShape& shape = r_.size.shape;
    if (r_.site.launcher == JobLauncher::kSrun)
      return fmt::format("srun --mpi={} --kill-on-bad-exit=1 --cpu-bind=cores", r_.site.mpi);
    // Keep-alive: a lost node is detected within seconds. Ranks have time to shut down when signalled.
    return fmt::format(
        "mpirun -q{} --map-by ppr:{}:node:PE={} --bind-to core \\\n    --mca oob_tcp_keepalive_time 3 --mca "
        "oob_tcp_keepalive_intvl 1"
        " --mca oob_tcp_keepalive_probes 3 --mca odls_base_sigkill_timeout 25",
        is_uneven() ? fmt::format(" -n {}", shape.ranks) : "", shape.ranks_per_node, shape.threads);
  }

  void with_checkpoints() {
    const std::string job = is_array() ? "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID" : "$SLURM_JOB_ID";
    text_ += fmt::format(
        "ck=./{}-{}.ck\nmkdir -p \"$ck\"\nrm -f \"$ck/finished\"\nbefore=$(cat \"$ck/newest\" 2>/dev/null)\n",
        job_name(r_.checkpoint), job);
    text_ += "rm -f \"$ck/.launcher\" \"$ck/.launcher.told\" \"$ck/.code\"\nrun=$ck/.launcher\n";
    text_ += "[ -z \"$told\" ] || touch \"$run.told\"  # the signal has come already: nothing is started\n";
    // The result of `wait` after a signal differs between shells, and Bash may have lost the exit code by then.
    text_ += "( sh -c 'echo $$ >\"$0\"; [ ! -e \"$0.told\" ] || exit 138; exec \"$@\"' \"$run\" \\\n    " + launch() +
             "\n    echo $? >\"$ck/.code\" ) &\n";
    text_ += "while kill -0 $! 2>/dev/null; do wait $!; done  # a signal ends `wait`, too\n";
    text_ += "code=$(cat \"$ck/.code\" 2>/dev/null)\n: \"${code:=1}\"\n";
    text_ +=
        "if [ \"$code\" = 0 ] && [ ! -e \"$ck/finished\" ]; then code=1; fi  # srun has been seen to return 0 after a "
        "failed launch\n";
    again(job);
  }

  /// Requeues the job after interruptions that are not program errors: always after progress; without progress only if
  /// the next attempt may get further, and a limited number of times. Each line of the file records such an attempt
  /// with its initial checkpoint, so lines before a newer checkpoint no longer count.
  void again(const std::string& job) {
    text_ += "case $code in\n";
    text_ +=
        "    69 | 75 | 137 | 138 | 205 | 255)  # a host was lost; saved; killed; told to save before it could; mpirun "
        "lost a link; killed, in Open MPI's words\n";
    text_ +=
        "        again=\n        if [ \"$(cat \"$ck/newest\" 2>/dev/null)\" != \"$before\" ]; then\n            "
        "again=1\n";
    text_ +=
        "        elif [ \"$code\" = 69 ] || [ \"$code\" = 138 ] || [ -n \"$told\" ]; then\n            "
        "attempt=\"nothing saved since ${before:-the beginning}\"\n";
    text_ += "            echo \"$attempt\" >>\"$ck/.attempts\" &&\n";
    text_ += fmt::format(
        "                [ \"$(grep -cxF \"$attempt\" \"$ck/.attempts\")\" -le {} ] && again=1\n        fi\n",
        kFruitlessRequeues);
    text_ += fmt::format(
        "        if [ -n \"$again\" ]; then\n            scontrol requeue \"{}\"\n        else\n            echo {} "
        ">&2\n        fi ;;\nesac\n",
        job, shell_quoted(r_.name + ": no new checkpoint came about, so the job is not queued again"));
  }

  void after() {
    text_ += "if [ \"$code\" = 137 ] || [ \"$code\" = 255 ]; then\n";
    text_ += fmt::format("    echo {} >&2\nfi\n",
                         shell_quoted(r_.name + ": a rank was killed; if that was for memory, " + more_memory()));
    text_ += "exit \"$code\"\n";
  }

  const ScriptRequest& r_;
  std::string text_;
};

}  // namespace

std::string job_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool good =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
    plain += good ? c : '_';
  }
  return plain.empty() || plain.front() == '-' ? "job" + plain : plain;
}

std::string log_pattern(const ScriptRequest& request) {
  return job_name(request.name) + (request.elements.front().values.empty() ? "-%j.log" : "-%A_%a.log");
}

std::string log_name(const ScriptRequest& request, const std::string& job) {
  return job_name(request.name) + "-" + job + (request.elements.front().values.empty() ? ".log" : "_*.log");
}

std::string script_text(const ScriptRequest& request) { return ScriptWriter(request).run(); }

std::string replacement_warning(const std::string& path, const std::string& checksum) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  if (posix_checksum(bytes.str()) == checksum) return {};
  return fmt::format(
      "warning: {} is replaced: jobs submitted with it that have yet to start, or are queued again, will end with exit "
      "code 2; -o FILE keeps it [replaced]",
      path);
}

std::string posix_checksum(std::string_view bytes) {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte << 24;
    for (int bit = 0; bit < 8; ++bit) sum = (sum << 1) ^ ((sum & 0x80000000U) != 0 ? 0x04C11DB7U : 0U);
    table[byte] = sum;
  }
  std::uint32_t sum = 0;
  const auto add = [&](std::uint32_t byte) { sum = (sum << 8) ^ table[(sum >> 24) ^ byte]; };
  for (const char c : bytes) add(static_cast<unsigned char>(c));
  for (std::size_t n = bytes.size(); n != 0; n >>= 8) add(static_cast<std::uint32_t>(n & 0xff));
  return fmt::format("{} {}", ~sum, bytes.size());
}

}  // namespace tdsl::tools
