#include <cstdio>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/app/memory/memory_kills.h"
#include "runtime/app/run/program_run.h"
#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/watch/life_sign.h"
#include "runtime/base/environment.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/engine/store/spare_memory.h"
#include "runtime/foreign/call.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/temporaries.h"
#include "runtime/kernels/product/blas_call.h"

namespace tdsl::rt {

namespace {

/// From here on the program reports its own errors.
void announce_start(const Environment& environment) {
  if (environment.session_folder) std::ofstream(*environment.session_folder + "/started") << '\n';
}

/// The launching process may report kills itself; the ranks exchange their data in any case, because not all of them
/// know.
void watch_kills(World& world, const Environment& environment) {
  const std::vector<std::string> parts = world.access()->all_gather(kill_watch_part());
  watch_memory_kills(environment.slurm_job.value_or("") + "-" + environment.pmix_namespace, parts, world.rank());
  if (!environment.silent_interrupt) announce_memory_kills();
}

void print_internal(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    std::fputs("out of memory [out-of-memory]\n", stderr);
  } else if (dynamic_cast<const std::system_error*>(&error) != nullptr) {  // from std::thread
    std::fprintf(stderr, "out of memory or threads: %s [out-of-memory]\n", error.what());
  } else {
    std::fprintf(stderr, "internal error of the runtime, please report it: %s [internal-error]\n", error.what());
  }
}

}  // namespace

int run_program(int argc, char** argv, const ProgramInfo& info, const std::function<void(Session&)>& program) {
  StopWatch watch;
  catch_uncaught_bad_alloc();
  keep_spare_memory();
  const std::vector<std::string> command(argv, argv + argc);
  Environment environment = read_environment();
  environment.trusted |= mpi_takes_pmi(environment);
  if (environment.simd) limit_simd_level(*environment.simd);
  blas::prepare();
  open_standard_streams();
  keep_owner_access();
  handle_interrupts();
  const Launch launch = classify_launch(environment);
  if (launch == Launch::kLaunched) {
    end_with_launcher();
    offer_to_be_killed();
  }
  try {
    if (launch == Launch::kRefused)
      throw LaunchError(refused_launch_message(environment, shown_command(command)) + " [launch]");
    drop(unusable_transports(environment));
    std::optional<LifeSign> sign;  // exists until MPI_Finalize has returned
    World world(environment);
    catch_aborts_without_memory();
    catch_foreign_signals(unlink_temporaries);
    if (environment.session_folder) sign.emplace(*environment.session_folder, world.rank());
    name_temporaries(environment.slurm_job.value_or(""), world.rank());
    if (world.rank() == 0) announce_start(environment);
    if (world.rank() == 0 && !environment.silent_interrupt) announce_interrupts();
    if (world.size() > 1) watch_kills(world, environment);
    try {
      Store store;
      return ProgramRun(world, store, environment, info, program, watch.lap())(command);
    } catch (const RunError&) {
      throw;
    } catch (const std::exception& error) {  // on this rank only: the others may be waiting for it
      if (world.size() == 1) throw;
      silence_interrupts();
      print_internal(error);
      unlink_temporaries();
      world.abort_all(static_cast<int>(ExitCode::kRunTime));
      throw;
    }
  } catch (const LaunchError& error) {
    if (environment.launch_rank == 0) print_error(error);
    announce_start(environment);
    return error.exit_code();
  } catch (const RunError& error) {
    print_error(error);
    announce_start(environment);
    return error.exit_code();
  } catch (const std::exception& error) {
    print_internal(error);
    return static_cast<int>(ExitCode::kRunTime);
  }
}

}  // namespace tdsl::rt
