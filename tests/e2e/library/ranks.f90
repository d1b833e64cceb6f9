! Calls the library `ocean` from Fortran on the ranks of a communicator: rows with a halo in, rows out.
program ranks
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use ocean_tdsl
  implicit none

  integer, parameter :: n = 61, m = 40
  integer(int64), parameter :: whole(2) = [n, m]
  type(ocean) :: model
  type(MPI_Comm) :: reversed
  integer :: rank, count, provided, code, failures
  character(200) :: text
  real(real64) :: all_u(n, m), all_f(n, m), expected(n, m)

  failures = 0
  call MPI_Init_thread(MPI_THREAD_SERIALIZED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, count)
  call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, reversed)
  call fill()

  call model%open(comm=MPI_COMM_WORLD, options="--threads 1", stat=code, errmsg=text)
  call expect(code == 0, "open: " // text)
  call boxes(rank)
  call whole_arrays()
  call errors()
  call model%close()

  call model%open(comm=reversed%MPI_VAL, stat=code, errmsg=text)  ! an integer
  call expect(code == 0, "open of another communicator: " // text)
  call boxes(count - 1 - rank)
  call model%close()

  call model%open(comm=MPI_COMM_NULL, stat=code, errmsg=text)
  call expect(code == 2 .and. index(text, "MPI_COMM_NULL") > 0, "open of no communicator: " // text)
  call MPI_Comm_free(reversed)
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures > 0) error stop 1
  if (rank == 0) print "(a)", "caller: good"

contains

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    failures = failures + 1
    print "(a, i0, 2a)", "rank ", rank, ": ", trim(what)
  end subroutine

  subroutine fill()
    integer :: i, t

    all_u = reshape([(real(mod(7 * i, 23), real64), i = 1, n * m)], [n, m])
    all_f = reshape([(real(mod(5 * i, 17), real64) / 4, i = 1, n * m)], [n, m])
    expected = all_u
    do t = 1, 3
      expected(2:n-1, 2:m-1) = 0.25_real64 * (expected(:n-2, 2:m-1) + expected(3:, 2:m-1) + expected(2:n-1, :m-2) + &
          expected(2:n-1, 3:)) + all_f(2:n-1, 2:m-1)
    end do
  end subroutine

  !> Arrays with a halo of one row on each side: F is read with it, U without it and written in place.
  subroutine boxes(place)
    integer, intent(in) :: place
    integer(int64) :: i0, i1, h0, h1
    real(real64), allocatable :: u(:, :), f(:, :)
    real(real64) :: total

    i0 = int(n, int64) * place / count
    i1 = int(n, int64) * (place + 1) / count
    h0 = max(i0 - 1, 0_int64)
    h1 = min(i1 + 1, int(n, int64))
    allocate (u(i0-1:i1, m), f(h0:h1-1, m))
    u = -1
    u(i0:i1-1, :) = all_u(i0+1:i1, :)
    f = all_f(h0+1:h1, :)
    call model%run_boxes(U=u(i0:i1-1, :), U_lo=[i0, 0_int64], U_shape=whole, F=f, F_lo=[h0, 0_int64], F_shape=whole, &
        steps=3_int64, U_out=u(i0:i1-1, :), U_out_lo=[i0, 0_int64], U_out_shape=whole, total=total, stat=code, errmsg=text)
    call expect(code == 0, "run_boxes: " // text)
    call expect(all(abs(u(i0:i1-1, :) - expected(i0+1:i1, :)) < 1e-11_real64), "U_out of run_boxes")
    call expect(all(u(i0-1, :) < 0) .and. all(u(i1, :) < 0), "around U_out of run_boxes")
    call expect(abs(total - sum(expected)) < 1e-7_real64, "total")
  end subroutine

  subroutine whole_arrays()
    real(real64) :: u(n, m)

    u = all_u
    call model%run(U=u, F=all_f, steps=3_int64, U_out=u, stat=code, errmsg=text)
    call expect(code == 0, "run: " // text)
    call expect(all(abs(u - expected) < 1e-11_real64), "U_out of run")
  end subroutine

  !> An error of one rank is an error of all.
  subroutine errors()
    real(real64) :: u(n, m)

    if (rank == count - 1) then
      call model%run_boxes(all_u, [0_int64, 0_int64], whole, all_f, [0_int64, 0_int64], whole, steps=1_int64, &
          U_out=u, stat=code, errmsg=text)
      call expect(code == 2 .and. text == "U_out has no U_out_lo or no U_out_shape", "a box without shape: " // text)
    else
      call model%run(all_u, all_f, steps=1_int64, U_out=u, stat=code, errmsg=text)
      call expect(code == 2 .and. index(text, "U_out") > 0, "an error of another rank: " // text)
    end if
    call model%run(all_u, all_f, steps=0_int64, U_out=u, stat=code, errmsg=text)
    call expect(code == 0 .and. all(abs(u - all_u) < 1e-15_real64), "a run after an error: " // text)
  end subroutine

end program
