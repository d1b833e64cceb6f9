! @MODULE@: @FILE@ called from Fortran. Made by @VERSION@.
!
@DECLARED@
!
!   use @MODULE@
!   type(@TYPE@) :: model
!   call model%open(comm=MPI_COMM_WORLD, options="--threads 4", stat=code, errmsg=text)
!   call model%run(..., stat=code, errmsg=text)
!   call model%run_boxes(...)
!   call model%close()
!
! Every argument has the name of the program's input, param or output. Subscripts keep their order and begin at 0 there:
! u(1, 1) is U[0, 0]. Array sections are read and written in place. Outputs that are absent are not computed. A param
! that is absent has the value of `open`. run: arrays are whole tensors, equal on every rank. run_boxes: X is this
! rank's part of X, X_lo its first subscripts (from 0) and X_shape the shape of the whole tensor.
! stat: 0, or 1: the run failed; 2: an argument is invalid; 3: ranks were lost. Without stat an error stops the program.

module @MODULE@_base
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: tdsl_f64, tdsl_f32, tdsl_i32, tdsl_i64, tdsl_bool, tdsl_c64, tdsl_c128
  public :: tdsl_param_f64, tdsl_param_f32, tdsl_param_i64, tdsl_param_i32, tdsl_param_bool
  public :: tdsl_param_c64, tdsl_param_c128
  public :: tdsl_i8, tdsl_u8, tdsl_i16, tdsl_u16, tdsl_u32, tdsl_u64
  public :: tdsl_param_i8, tdsl_param_u8, tdsl_param_i16, tdsl_param_u16, tdsl_param_u32, tdsl_param_u64
  public :: tdsl_program, tdsl_call, tdsl_open, tdsl_finish, tdsl_close
@PUBLIC@

  integer, parameter :: tdsl_f64 = c_double, tdsl_f32 = c_float, tdsl_i32 = c_int32_t, tdsl_i64 = c_int64_t
  integer, parameter :: tdsl_bool = c_bool, tdsl_c64 = c_float_complex, tdsl_c128 = c_double_complex
  integer, parameter :: type_bool = 0, type_i32 = 1, type_i64 = 2, type_f32 = 3, type_f64 = 4
  integer, parameter :: type_c64 = 5, type_c128 = 6
  ! Fortran has no unsigned integers: those of the program are signed ones of the same size with the same bits.
  integer, parameter :: tdsl_i8 = c_int8_t, tdsl_i16 = c_int16_t
  integer, parameter :: tdsl_u8 = c_int8_t, tdsl_u16 = c_int16_t, tdsl_u32 = c_int32_t, tdsl_u64 = c_int64_t
  integer, parameter :: type_i8 = 7, type_u8 = 8, type_i16 = 9, type_u16 = 10, type_u32 = 11, type_u64 = 12
  integer(c_int), parameter :: good = 0, failed = 1, misused = 2
  integer, parameter :: most_dimensions = 8

  type, bind(c) :: c_box
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: lo(most_dimensions) = 0, hi(most_dimensions) = 0, stride(most_dimensions) = 1
  end type

  type, bind(c) :: c_array
    type(c_ptr) :: name = c_null_ptr
    integer(c_int) :: element_type = 0, dimensions = 0
    integer(c_int64_t) :: shape(most_dimensions) = 0, box_count = 1
    type(c_ptr) :: boxes = c_null_ptr
  end type

  !> An argument. `memory`: where the library writes an output that overlaps an input; copied to `place` afterwards.
  type :: tensor
    character(kind=c_char, len=@NAME_LENGTH@) :: name = c_null_char
    logical :: is_output = .false.
    integer(c_int64_t) :: bytes = 0
    type(c_array) :: array
    type(c_box) :: box, place
    integer(c_int64_t), allocatable :: memory(:)
  end type

  !> The arguments of one call. `words`: params as on the command line.
  type :: tdsl_call
    logical :: boxed = .false.
    integer :: count = 0
    type(tensor) :: tensors(@TENSORS@)
    character(:), allocatable :: words, mistake
  end type

  !> A handle of the library, and the params it has.
  type :: tdsl_program
    private
    type(c_ptr) :: handle = c_null_ptr
    character(:), allocatable :: words
  end type

  interface
    integer(c_int) function c_open(communicator, options, option_count, handle) &
        bind(c, name="@NAME@_open_fortran")
      import :: c_int, c_ptr
      type(*), intent(in), optional :: communicator
      type(c_ptr), intent(in) :: options(*)
      integer(c_int), value :: option_count
      type(c_ptr), intent(out) :: handle
    end function
    integer(c_int) function c_params(handle, options, option_count) &
        bind(c, name="@NAME@_params")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
      type(c_ptr), intent(in) :: options(*)
      integer(c_int), value :: option_count
    end function
    integer(c_int) function c_run(handle, inputs, input_count, outputs, output_count) &
        bind(c, name="@NAME@_run")
      import :: c_array, c_int, c_ptr
      type(c_ptr), value :: handle
      type(c_array), intent(in) :: inputs(*)
      integer(c_int), value :: input_count
      type(c_array), intent(inout) :: outputs(*)
      integer(c_int), value :: output_count
    end function
    type(c_ptr) function c_message(handle) &
        bind(c, name="@NAME@_message")
      import :: c_ptr
      type(c_ptr), value :: handle
    end function
    integer(c_int) function c_close(handle) &
        bind(c, name="@NAME@_close")
      import :: c_int, c_ptr
      type(c_ptr), value :: handle
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

contains

  !> `communicator`: a Fortran handle, an integer or a type(MPI_Comm).
  subroutine tdsl_open(program, communicator, options, stat, errmsg)
    type(tdsl_program), intent(inout) :: program
    type(*), intent(in), optional :: communicator
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr), allocatable :: words(:)
    character(:), allocatable :: message
    integer(c_int) :: code, ignored

    if (c_associated(program%handle)) then
      call report(misused, "the program is open", stat, errmsg)
      return
    end if
    if (present(options)) then
      call split(options, letters, words)
    else
      call split("", letters, words)
    end if
    code = c_open(communicator, words, int(size(words), c_int), program%handle)
    program%words = ""
    message = ""
    if (code /= good) then
      message = text_of(c_message(program%handle))
      ignored = c_close(program%handle)
      program%handle = c_null_ptr
    end if
    call report(code, message, stat, errmsg)
  end subroutine

  !> Runs the program on the arguments of `given`.
  subroutine tdsl_finish(program, given, stat, errmsg)
    type(tdsl_program), intent(inout) :: program
    type(tdsl_call), intent(inout), target :: given
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: message
    integer(c_int) :: code

    if (.not. c_associated(program%handle)) then
      call report(misused, "the program is not open", stat, errmsg)
      return
    end if
    code = use_params(program, given)
    if (code == good) code = run_tensors(program, given)
    message = ""
    if (code /= good) then
      message = text_of(c_message(program%handle))
      if (allocated(given%mistake)) message = given%mistake
    end if
    call report(code, message, stat, errmsg)
  end subroutine

  subroutine tdsl_close(program)
    type(tdsl_program), intent(inout) :: program
    integer(c_int) :: ignored

    if (c_associated(program%handle)) ignored = c_close(program%handle)
    program%handle = c_null_ptr
  end subroutine

  integer(c_int) function use_params(program, given) result(code)
    type(tdsl_program), intent(inout) :: program
    type(tdsl_call), intent(in) :: given
    character(kind=c_char), allocatable, target :: letters(:)
    type(c_ptr), allocatable :: words(:)
    character(:), allocatable :: wanted

    code = good
    wanted = ""
    if (allocated(given%words)) wanted = given%words
    if (wanted == program%words) return
    call split(wanted, letters, words)
    code = c_params(program%handle, words, int(size(words), c_int))
    if (code == good) program%words = wanted
  end function

  integer(c_int) function run_tensors(program, given) result(code)
    type(tdsl_program), intent(in) :: program
    type(tdsl_call), intent(inout), target :: given
    type(c_array) :: inputs(@TENSORS@), outputs(@TENSORS@)
    integer :: input_count, output_count, k

    input_count = 0
    output_count = 0
    do k = 1, given%count
      if (given%tensors(k)%is_output) call keep_apart(given, k)
      given%tensors(k)%array%name = c_loc(given%tensors(k)%name)
      given%tensors(k)%array%boxes = c_loc(given%tensors(k)%box)
      if (given%tensors(k)%is_output) then
        output_count = output_count + 1
        outputs(output_count) = given%tensors(k)%array
      else
        input_count = input_count + 1
        inputs(input_count) = given%tensors(k)%array
      end if
    end do
    code = c_run(program%handle, inputs, int(input_count, c_int), outputs, int(output_count, c_int))
    if (code /= good) return
    do k = 1, given%count
      if (allocated(given%tensors(k)%memory)) call put(given%tensors(k), given%tensors(k)%array%dimensions, &
          address(given%tensors(k)%box%data), address(given%tensors(k)%place%data))
    end do
  end function

  !> Inputs are read while outputs are written: an output that overlaps an input is written to memory of its own first.
  subroutine keep_apart(given, k)
    type(tdsl_call), intent(inout), target :: given
    integer, intent(in) :: k
    integer(c_intptr_t) :: low, high, input_low, input_high
    integer(c_int64_t) :: elements, word_count
    integer :: d, other, status
    logical :: meets

    call reach(given%tensors(k), low, high)
    meets = .false.
    do other = 1, given%count
      if (given%tensors(other)%is_output) cycle
      call reach(given%tensors(other), input_low, input_high)
      meets = meets .or. (input_low < high .and. low < input_high)
    end do
    if (.not. meets) return
    given%tensors(k)%place = given%tensors(k)%box
    elements = 1
    do d = 1, int(given%tensors(k)%array%dimensions)
      given%tensors(k)%box%stride(d) = elements
      elements = elements * (given%tensors(k)%box%hi(d) - given%tensors(k)%box%lo(d))
    end do
    word_count = (elements * given%tensors(k)%bytes + 7) / 8
    allocate (given%tensors(k)%memory(word_count), stat=status)
    if (status == 0) then
      given%tensors(k)%box%data = c_loc(given%tensors(k)%memory)
    else
      call mistaken(given, k, "out of memory")
    end if
  end subroutine

  !> The addresses low <= a < high between which elements are; none if it is empty.
  subroutine reach(of, low, high)
    type(tensor), intent(in) :: of
    integer(c_intptr_t), intent(out) :: low, high
    integer(c_int64_t) :: span
    integer :: d

    low = address(of%box%data)
    high = low
    if (.not. c_associated(of%box%data)) return
    high = low + of%bytes
    do d = 1, int(of%array%dimensions)
      span = (of%box%hi(d) - of%box%lo(d) - 1) * of%box%stride(d) * of%bytes
      low = low + min(span, 0_c_int64_t)
      high = high + max(span, 0_c_int64_t)
    end do
  end subroutine

  !> Copies the elements of dimensions 1 to d between two addresses.
  recursive subroutine put(of, d, from, to)
    type(tensor), intent(in) :: of
    integer(c_int), intent(in) :: d
    integer(c_intptr_t), intent(in) :: from, to
    integer(c_int64_t) :: i

    if (d <= 1) then
      call put_line(of, from, to)
      return
    end if
    do i = 0, of%box%hi(d) - of%box%lo(d) - 1
      call put(of, d - 1_c_int, from + i * of%box%stride(d) * of%bytes, to + i * of%place%stride(d) * of%bytes)
    end do
  end subroutine

  subroutine put_line(of, from, to)
    type(tensor), intent(in) :: of
    integer(c_intptr_t), intent(in) :: from, to
    integer(c_int8_t), pointer :: from1(:), to1(:)
    integer(c_int32_t), pointer :: from4(:), to4(:)
    integer(c_int64_t), pointer :: from8(:), to8(:)
    integer(c_int64_t) :: n, step, span, first, last
    integer(c_intptr_t) :: low

    n = 1
    step = 1
    if (of%array%dimensions > 0) then
      n = of%box%hi(1) - of%box%lo(1)
      step = of%place%stride(1)
    end if
    span = (n - 1) * abs(step) + 1
    low = to
    first = 1
    last = span
    if (step < 0) then
      low = to - (span - 1) * of%bytes
      first = span
      last = 1
    end if
    select case (of%bytes)
    case (1)
      call c_f_pointer(pointer_to(from), from1, [n])
      call c_f_pointer(pointer_to(low), to1, [span])
      to1(first:last:step) = from1
    case (4)
      call c_f_pointer(pointer_to(from), from4, [n])
      call c_f_pointer(pointer_to(low), to4, [span])
      to4(first:last:step) = from4
    case default
      call c_f_pointer(pointer_to(from), from8, [n])
      call c_f_pointer(pointer_to(low), to8, [span])
      to8(first:last:step) = from8
    end select
  end subroutine

  !> Adds an array to the call. at(0): its first element, at(d): the next one in dimension d.
  subroutine describe(given, is_output, name, element_type, bytes, extents, at, lo, whole)
    type(tdsl_call), intent(inout) :: given
    logical, intent(in) :: is_output
    character(*), intent(in) :: name
    integer, intent(in) :: element_type, bytes
    integer(c_int64_t), intent(in) :: extents(:)
    type(c_ptr), intent(in) :: at(0:)
    integer(c_int64_t), intent(in), optional :: lo(:), whole(:)
    integer(c_int64_t) :: step
    integer :: d, k, n
    logical :: odd

    n = size(extents)
    k = given%count + 1
    given%count = k
    given%tensors(k)%name = name // c_null_char
    given%tensors(k)%is_output = is_output
    given%tensors(k)%bytes = bytes
    given%tensors(k)%array%element_type = int(element_type, c_int)
    given%tensors(k)%array%dimensions = int(n, c_int)
    given%tensors(k)%array%shape(:n) = extents
    if (present(whole)) given%tensors(k)%array%shape(:n) = whole
    given%tensors(k)%box%data = at(0)
    if (present(lo)) given%tensors(k)%box%lo(:n) = lo
    given%tensors(k)%box%hi(:n) = given%tensors(k)%box%lo(:n) + extents
    odd = .false.
    do d = 1, n
      step = address(at(d)) - address(at(0))
      if (step == 0) cycle
      given%tensors(k)%box%stride(d) = step / bytes
      odd = odd .or. mod(step, int(bytes, c_int64_t)) /= 0
    end do
    if (odd) call mistaken(given, k, &
        name // ": elements in steps that are no multiple of their size are not supported")
    if (given%boxed .and. n > 0 .and. .not. (present(lo) .and. present(whole))) &
        call mistaken(given, k, name // " has no " // name // "_lo or no " // name // "_shape")
  end subroutine

  !> An error of this rank alone. The call is made nevertheless, with an array that the library refuses on all ranks.
  subroutine mistaken(given, k, message)
    type(tdsl_call), intent(inout) :: given
    integer, intent(in) :: k
    character(*), intent(in) :: message

    given%tensors(k)%array%element_type = -1
    if (.not. allocated(given%mistake)) given%mistake = message
  end subroutine

  subroutine tdsl_param_f64(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    real(tdsl_f64), intent(in), optional :: value
    character(40) :: text

    if (.not. present(value)) return
    write (text, "(es40.16e3)") value
    call add_param(given, name, text)
  end subroutine

  subroutine tdsl_param_f32(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    real(tdsl_f32), intent(in), optional :: value

    if (present(value)) call tdsl_param_f64(given, name, real(value, tdsl_f64))
  end subroutine

  subroutine tdsl_param_c128(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    complex(tdsl_c128), intent(in), optional :: value
    character(40) :: re, im

    if (.not. present(value)) return
    write (re, "(es40.16e3)") real(value)
    write (im, "(sp, es40.16e3)") aimag(value)
    call add_param(given, name, trim(adjustl(re)) // trim(adjustl(im)) // "i")
  end subroutine

  subroutine tdsl_param_c64(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    complex(tdsl_c64), intent(in), optional :: value

    if (present(value)) call tdsl_param_c128(given, name, cmplx(value, kind=tdsl_c128))
  end subroutine

  subroutine tdsl_param_i64(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_i64), intent(in), optional :: value
    character(40) :: text

    if (.not. present(value)) return
    write (text, "(i0)") value
    call add_param(given, name, text)
  end subroutine

  subroutine tdsl_param_i32(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_i32), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_i8(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_i8), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_u8(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_u8), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_i16(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_i16), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_u16(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_u16), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_u32(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_u32), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_u64(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    integer(tdsl_u64), intent(in), optional :: value

    if (present(value)) call tdsl_param_i64(given, name, int(value, tdsl_i64))
  end subroutine

  subroutine tdsl_param_bool(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name
    logical(tdsl_bool), intent(in), optional :: value

    if (present(value)) call add_param(given, name, trim(merge("true ", "false", value)))
  end subroutine

  subroutine add_param(given, name, value)
    type(tdsl_call), intent(inout) :: given
    character(*), intent(in) :: name, value

    if (.not. allocated(given%words)) given%words = ""
    given%words = given%words // " --set " // name // "=" // trim(adjustl(value))
  end subroutine

  subroutine report(code, message, stat, errmsg)
    integer(c_int), intent(in) :: code
    character(*), intent(in) :: message
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    if (present(stat)) stat = code
    if (code == good) return
    if (present(errmsg)) errmsg = message
    if (present(stat)) return
    write (error_unit, "(a)") message
    flush (error_unit)
    error stop 1
  end subroutine

  !> C strings from words between blanks; a part in double quotes may have blanks.
  subroutine split(text, letters, words)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable, target, intent(out) :: letters(:)
    type(c_ptr), allocatable, intent(out) :: words(:)
    integer :: i, used, word_count, begins(len(text) + 1)
    logical :: quoted, inside

    allocate (letters(2 * len(text) + 1))
    used = 0
    word_count = 0
    quoted = .false.
    inside = .false.
    do i = 1, len(text) + 1
      if (.not. quoted .and. text(i:min(i, len(text))) == " ") then
        if (inside) then
          used = used + 1
          letters(used) = c_null_char
        end if
        inside = .false.
        cycle
      end if
      if (i > len(text)) exit
      if (.not. inside) then
        word_count = word_count + 1
        begins(word_count) = used + 1
        inside = .true.
      end if
      if (text(i:i) == '"') then
        quoted = .not. quoted
      else
        used = used + 1
        letters(used) = text(i:i)
      end if
    end do
    letters(used + 1) = c_null_char
    words = [(c_loc(letters(begins(i))), i = 1, word_count)]
  end subroutine

  function text_of(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: i, n

    n = c_strlen(text)
    call c_f_pointer(text, letters, [n])
    allocate (character(n) :: copy)
    do i = 1, n
      copy(i:i) = letters(i)
    end do
  end function

  integer(c_intptr_t) function address(of)
    type(c_ptr), intent(in) :: of

    address = transfer(of, 0_c_intptr_t)
  end function

  type(c_ptr) function pointer_to(at)
    integer(c_intptr_t), intent(in) :: at

    pointer_to = transfer(at, c_null_ptr)
  end function
@SEE@
end module

module @MODULE@
  use @MODULE@_base
  implicit none
  private
  public :: @TYPE@

  type :: @TYPE@
    private
    type(tdsl_program) :: tdsl_state
  contains
    procedure :: open => tdsl_open_model
    procedure :: run => tdsl_run
    procedure :: run_boxes => tdsl_run_boxes
    procedure :: close => tdsl_close_model
  end type

contains

  subroutine tdsl_open_model(tdsl_model, comm, options, stat, errmsg)
    class(@TYPE@), intent(inout) :: tdsl_model
    type(*), intent(in), optional :: comm
    character(*), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg

    call tdsl_open(tdsl_model%tdsl_state, comm, options, stat, errmsg)
  end subroutine

@RUN@
  subroutine tdsl_close_model(tdsl_model)
    class(@TYPE@), intent(inout) :: tdsl_model

    call tdsl_close(tdsl_model%tdsl_state)
  end subroutine

end module
