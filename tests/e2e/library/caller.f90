! Calls the library `fields` from Fortran, in this process alone.
program caller
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use fields_tdsl
  implicit none

  integer, parameter :: n = 12, m = 9, p = 5
  type(fields) :: model, second
  integer :: failures = 0, code
  character(200) :: text
  real(real64) :: u(n, m), w(n, m), wide(2 * n, m + 3), r4(2, 3, 2, 3), r8(2, 3, 2, 3, 1, 2, 2, 2)
  real(real64) :: q4(2, 3, 2, 3), q8(2, 3, 2, 3, 1, 2, 2, 2), total, expected(n, m)
  real(real32) :: x(n), y(2 * n), r5(2, 3, 2, 3, 1), q5(2, 3, 2, 3, 1)
  integer(int32) :: k(n, m, p), k_out(n, m, p), r7(2, 3, 2, 3, 1, 2, 2), q7(2, 3, 2, 3, 1, 2, 2)
  integer(int64) :: l(p), triple(p), r6(2, 3, 2, 3, 1, 2), q6(2, 3, 2, 3, 1, 2)
  logical(c_bool) :: mask(n, m), not_mask(n, m)

  call fill()
  if (command_argument_count() > 0) call model%run(u, w, x, k, l, mask, 0.0_real64, r4, r5, r6, r7, r8)  ! stops
  call model%open(options="--threads 2  --set ""steps=0""", stat=code, errmsg=text)
  call expect(code == 0, "open: " // text)
  call types_and_ranks()
  call sections()
  call in_place()
  call params()
  call boxes()
  call errors()
  call model%close()
  call model%close()
  if (failures > 0) error stop 1
  print "(a)", "caller: good"

contains

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what

    if (good) return
    failures = failures + 1
    print "(2a)", "caller: ", trim(what)
  end subroutine

  subroutine fill()
    integer :: i

    u = reshape([(real(mod(7 * i, 23), real64), i = 1, n * m)], [n, m])
    w = reshape([(real(mod(5 * i, 17), real64) / 4, i = 1, n * m)], [n, m])
    x = [(real(i, real32) / 8, i = 1, n)]
    k = reshape([(i, i = 1, n * m * p)], [n, m, p])
    l = [(10_int64**(2 * i), i = 1, p)]
    mask = mod(nint(u), 2) == 0
    r4 = reshape([(real(i, real64), i = 1, size(r4))], shape(r4))
    r5 = reshape([(real(i, real32), i = 1, size(r5))], shape(r5))
    r6 = reshape([(int(i, int64), i = 1, size(r6))], shape(r6))
    r7 = reshape([(i, i = 1, size(r7))], shape(r7))
    r8 = reshape([(real(i, real64), i = 1, size(r8))], shape(r8))
  end subroutine

  !> `steps` of the program's stencil.
  function relaxed(from, steps) result(v)
    real(real64), intent(in) :: from(:, :)
    integer, intent(in) :: steps
    real(real64) :: v(size(from, 1), size(from, 2))
    integer :: t, a, b

    a = size(from, 1)
    b = size(from, 2)
    v = from
    do t = 1, steps
      v(2:a-1, 2:b-1) = 0.25_real64 * (v(:a-2, 2:b-1) + v(3:, 2:b-1) + v(2:a-1, :b-2) + v(2:a-1, 3:))
    end do
  end function

  subroutine types_and_ranks()
    call model%run(U=u, v_u=w, v__x=x, v_stat=k, L=l, mask=mask, s=1.5_real64, R4=r4, R5=r5, R6=r6, R7=r7, R8=r8, &
        steps=3_int64, V_out=expected, y=y(:n), K=k_out, M=triple, not_mask=not_mask, total=total, Q4=q4, Q5=q5, &
        Q6=q6, Q7=q7, Q8=q8, stat=code, errmsg=text)
    call expect(code == 0, "run: " // text)
    call expect(all(abs(expected - (relaxed(u, 3) + w)) < 1e-12_real64), "V_out")
    call expect(all(y(:n) == x * 0.5), "y")
    call expect(all(k_out == k + 1), "K")
    call expect(all(triple == 3 * l), "M")
    call expect(logical(all(not_mask .eqv. mask)), "not_mask")
    call expect(abs(total - 3 - sum(u)) < 1e-9_real64, "total")
    call expect(all(q4 == r4 + 1) .and. all(q5 == r5 * 2) .and. all(q6 == r6 + 5), "ranks 4 to 6")
    call expect(all(q7 == r7 - 1) .and. all(q8 == r8 * 2), "ranks 7 and 8")
  end subroutine

  subroutine sections()
    wide = -1
    wide(1:2*n:2, 2:m+1) = u
    y = -1
    call model%run(wide(1:2*n:2, 2:m+1), w(n:1:-1, :), x(n:1:-1), k(:, m:1:-1, :), l, mask, 0.0_real64, r4, r5, r6, r7, &
        r8, steps=2_int64, V_out=wide(2*n:2:-2, m+1:2:-1), y=y(2*n:1:-2), K=k_out(n:1:-1, :, :), stat=code, errmsg=text)
    call expect(code == 0, "run on sections: " // text)
    expected = relaxed(u, 2) + w(n:1:-1, :)
    call expect(all(abs(wide(2*n:2:-2, m+1:2:-1) - expected) < 1e-12_real64), "V_out, a section")
    call expect(all(wide(1:2*n:2, 2:m+1) == u) .and. all(wide(:, 1) < 0) .and. all(wide(:, m+2:) < 0), "around V_out")
    call expect(all(y(2*n:1:-2) == x(n:1:-1) * 0.5) .and. all(y(1::2) < 0), "y, a section")
    call expect(all(k_out(n:1:-1, :, :) == k(:, m:1:-1, :) + 1), "K, a section")
  end subroutine

  !> An array that is input and output.
  subroutine in_place()
    real(real64) :: v(n, m)
    integer(int32) :: own(n, m, p)
    logical(c_bool) :: marks(n, m)

    v = u
    own = k
    marks = mask
    call model%run(v, w, x, own, l, marks, 0.0_real64, r4, r5, r6, r7, r8, steps=2_int64, flip=.true._c_bool, V_out=v, &
        K=own(n:1:-1, :, :), not_mask=marks, stat=code, errmsg=text)
    call expect(code == 0, "run in place: " // text)
    call expect(all(abs(v - (relaxed(u, 2) + w)) < 1e-12_real64), "V_out in place of U")
    call expect(all(own(n:1:-1, :, :) == k + 1), "K in place, backwards")
    call expect(logical(all(marks .neqv. mask)), "not_mask in place of mask")
  end subroutine

  !> Params of a call count for it alone.
  subroutine params()
    real(real64) :: again

    call model%run(u, w, x, k, l, mask, 1.0_real64, r4, r5, r6, r7, r8, scale=0.1_real64, small=0.1_real32, &
        shift=-7_int32, steps=0_int64, y=y(:n), K=k_out, total=total, stat=code, errmsg=text)
    call expect(code == 0, "run with params: " // text)
    call expect(all(y(:n) == x * 0.1_real32) .and. all(k_out == k - 7), "params of a call")
    call model%run(u, w, x, k, l, mask, 1.0_real64, r4, r5, r6, r7, r8, total=again, stat=code)
    call expect(code == 0 .and. abs(again - total - 1.9_real64) < 1e-9_real64, "params of open")
  end subroutine

  subroutine boxes()
    integer(int64) :: whole(2), o(8)

    whole = [n, m]
    o = 0
    w = -1
    call model%run_boxes(u, o(:2), whole, 0 * u, o(:2), whole, x, o(:1), whole(:1), k, o(:3), int(shape(k), int64), &
        l, o(:1), int(shape(l), int64), mask, o(:2), whole, 0.0_real64, r4, o(:4), int(shape(r4), int64), &
        r5, o(:5), int(shape(r5), int64), r6, o(:6), int(shape(r6), int64), r7, o(:7), int(shape(r7), int64), &
        r8, o, int(shape(r8), int64), &
        V_out=w(2:3, :), V_out_lo=[4_int64, 0_int64], V_out_shape=whole, stat=code, errmsg=text)
    call expect(code == 0, "run_boxes: " // text)
    call expect(all(w(2:3, :) == u(5:6, :)) .and. all(w(1, :) < 0) .and. all(w(4:, :) < 0), "a box of V_out")
    call model%run_boxes(u, o(:2), whole, 0 * u, o(:2), whole, x, o(:1), whole(:1), k, o(:3), int(shape(k), int64), &
        l, o(:1), int(shape(l), int64), mask, o(:2), whole, 0.0_real64, r4, o(:4), int(shape(r4), int64), &
        r5, o(:5), int(shape(r5), int64), r6, o(:6), int(shape(r6), int64), r7, o(:7), int(shape(r7), int64), &
        r8, o, int(shape(r8), int64), V_out=w(2:3, :), V_out_lo=o(:2), stat=code, errmsg=text)
    call expect(code == 2 .and. text == "V_out has no V_out_lo or no V_out_shape", "a box without shape: " // text)
  end subroutine

  subroutine errors()
    type(fields) :: never

    call model%run(u, w, x, k, l, mask, -1.0_real64, r4, r5, r6, r7, r8, total=total, stat=code, errmsg=text)
    call expect(code == 1 .and. index(text, "s is at least 0") > 0, "a failed assertion: " // text)
    call model%run(u(:, 2:), w, x, k, l, mask, 1.0_real64, r4, r5, r6, r7, r8, total=total, stat=code, errmsg=text)
    call expect(code == 2 .and. index(text, "m") > 0, "shapes that differ: " // text)
    text = "as before"
    call model%run(u, w, x, k, l, mask, 1.0_real64, r4, r5, r6, r7, r8, total=total, stat=code, errmsg=text)
    call expect(code == 0 .and. text == "as before", "a run after errors: " // text)
    call model%open(stat=code, errmsg=text)
    call expect(code == 2 .and. text == "the program is open", "a second open: " // text)
    call second%open(options="--thread 2", stat=code, errmsg=text)
    call expect(code == 2 .and. index(text, "unknown option") > 0, "an unknown option: " // text)
    call second%open(options="--set steps=1", stat=code, errmsg=text)
    call expect(code == 0, "open after an error: " // text)
    call second%close()
    call never%run(u, w, x, k, l, mask, 1.0_real64, r4, r5, r6, r7, r8, stat=code, errmsg=text)
    call expect(code == 2 .and. text == "the program is not open", "a run before open: " // text)
  end subroutine

end program
