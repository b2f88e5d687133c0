"""Running: how inputs are given, what comes back, what is refused."""

import asyncio
import copy
import ctypes
import gc
import pickle
import weakref

import numpy as np
import pytest

import skiff

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.ones((2, 3), np.float32)


def test_arrays_are_given_by_place_and_by_name(add):
    session = add.session(threads=1)
    for outputs in (session(A, B), session(A, b=B), session(a=A, b=B), session(b=B, a=A), session.run({"a": A, "b": B})):
        np.testing.assert_array_equal(outputs["sum"], A + 1)
        np.testing.assert_array_equal(outputs["twice"], 2 * (A + 1))


def test_outputs_by_name_index_attribute_and_unpacked(add):
    outputs = add(A, B)
    total, twice = outputs
    assert outputs[0] is total and outputs["sum"] is total and outputs.sum is total
    assert outputs[-1] is twice and outputs.twice is twice
    assert list(outputs.keys()) == ["sum", "twice"] and "sum" in outputs and "a" not in outputs
    assert [name for name, _ in outputs.items()] == ["sum", "twice"] and len(outputs) == 2
    assert "sum" in dir(outputs) and "float32 [2, 3]" in repr(outputs)
    with pytest.raises(KeyError, match="'sum', 'twice'"):
        outputs["other"]
    with pytest.raises(AttributeError, match="'sum', 'twice'"):
        outputs.other
    with pytest.raises(IndexError):
        outputs[2]
    for other in (copy.deepcopy(outputs), pickle.loads(pickle.dumps(outputs))):
        np.testing.assert_array_equal(other.twice, twice)


def test_outputs_are_the_callers_own(add):
    session = add.session()
    first = session(A, B).sum
    kept = first.copy()
    session(B, B)
    np.testing.assert_array_equal(first, kept)
    assert first.flags.writeable and first.flags.owndata


def test_lists_numbers_and_other_layouts(add):
    session = add.session()
    expected = A + 1
    fortran = np.asfortranarray(A)
    strided = np.zeros((2, 6), np.float32)
    strided[:, ::2] = A
    swapped = A.astype(">f4")
    for a in (A.tolist(), fortran, strided[:, ::2], swapped, memoryview(A), A[::-1][::-1]):
        np.testing.assert_array_equal(session(a, B).sum, expected)
    in_ctypes = ((ctypes.c_float * A.shape[1]) * A.shape[0])()
    np.copyto(np.ctypeslib.as_array(in_ctypes), A)
    np.testing.assert_array_equal(session(in_ctypes, B).sum, expected)
    readonly = A.copy()
    readonly.flags.writeable = False
    np.testing.assert_array_equal(session(readonly, B).sum, expected)


def test_dlpack_tensors_of_other_libraries(add):
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    np.testing.assert_array_equal(add(Foreign(A), B).sum, A + 1)


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (2, 1, 3)])
def test_every_dtype_comes_back_as_it_went_in(dtype, shape):
    names = {"float": "f", "int": "i", "uint": "u"}
    kind = dtype.rstrip("0123456789")
    text = dtype if dtype == "bool" else names[kind] + dtype[len(kind) :]
    source = f"graph g {{ input x: {text}{list(shape)} y = Identity(x) output y }}"
    x = (np.arange(int(np.prod(shape))).reshape(shape) % 2).astype(dtype)
    session = skiff.convert(source.encode()).session()
    for copied in (True, False):
        y = session.run({"x": x}, copy=copied)[0]
        assert y.dtype == x.dtype and y.shape == x.shape
        np.testing.assert_array_equal(y, x)
        del y


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda s: s(A), "input 'b' was not given; the inputs are 'a', 'b'"),
        (lambda s: s(A, B, B), "3 arrays were given"),
        (lambda s: s(A, a=A), "input 'a' was given twice"),
        (lambda s: s(A, c=B), "no input 'c'; the inputs are 'a', 'b'"),
        (lambda s: s(A.astype(np.float64), B), "must be f32, got f64"),
        (lambda s: s(A.astype(np.complex64), B), "complex64"),
        (lambda s: s(np.zeros([1] * 9, np.float32), B), "9 dimensions"),
        (lambda s: s("words", B), "input 'a' has elements of type"),
        (lambda s: s({"a": A, "b": B}), r"input 'a' is a dict; session.run\(arrays\) takes arrays by name"),
        (lambda s: s.run(A), r"as run\({'a': array}\), got ndarray"),
        (lambda s: s.run({"a": A}), "input 'b' was not given"),
        (lambda s: s.input("c"), "no input 'c'"),
        (lambda s: s.bind("c", A), "no input 'c'"),
        (lambda s: s.bind("a\0c", A), "is no name"),
        (lambda s: s.run({"\ud800": A}), "is no name"),
        (lambda s: s.bind("a", A.tolist()), "can only be bound to a NumPy array"),
        (lambda s: s.tap("sum"), "keep_intermediates"),
    ],
)
def test_mistakes_are_named(add, call, words):
    session = add.session()
    with pytest.raises(skiff.InvalidArgument, match=words) as caught:
        call(session)
    assert isinstance(caught.value, ValueError) and caught.value.code == "invalid argument"
    np.testing.assert_array_equal(session(A, B).sum, A + 1)  # It is as usable as before.


def test_shapes_beyond_the_contract(open_shapes):
    session = open_shapes.session()
    for n in (1, 7, 64, 7):
        assert session(np.ones((n, 4), np.float32)).y.shape == (n, 8)
    with pytest.raises(skiff.NoMatchingBucket, match="dimension 0 \\('n'\\) is 65.*1 to 64") as caught:
        session(np.ones((65, 4), np.float32))
    assert isinstance(caught.value, ValueError)


def test_an_input_is_written_in_place(add):
    session = add.session()
    a = session.input("a")
    b = session.input("b", (2, 3))
    assert a.shape == (2, 3) and a.dtype == np.float32 and not a.any() and a.flags.writeable
    a[:] = A
    b.fill(1)
    np.testing.assert_array_equal(session().sum, A + 1)
    a += 1
    np.testing.assert_array_equal(session().sum, A + 2)
    np.testing.assert_array_equal(session(a=B).sum, B + 1)  # Given for this call, and no longer bound.
    with pytest.raises(skiff.InvalidArgument, match="input 'a' was not given"):
        session()


def test_an_input_of_open_shape(unbounded):
    session = unbounded.session()
    with pytest.raises(skiff.InvalidArgument, match="say which shape"):
        session.input("x")
    for n in (3, 100):
        x = session.input("x", (n, 4))
        x[:] = 1
        assert session().y.shape == (n, 8)


def test_bound_memory_is_read_where_it_lies(add):
    session = add.session()
    a = skiff.empty((2, 3))
    a[:] = A
    session.bind("a", a)
    np.testing.assert_array_equal(session(b=B).sum, A + 1)
    a[:] = 0
    np.testing.assert_array_equal(session(b=B).sum, B)


def test_large_inputs_are_not_copied():
    """What is read is the caller's memory: a net that only adds a constant sees what was written after the call was prepared."""
    session = skiff.convert(b"graph g { input x: f32[1024, 64] y = Neg(x) output y }").session()
    x = skiff.empty((1024, 64))
    x[:] = 1
    assert session(x).y[0, 0] == -1
    holders = weakref.ref(x)
    del x
    gc.collect()
    assert holders() is not None  # The Session reads it until the next call gives another.
    session(np.zeros((1024, 64), np.float32))
    gc.collect()
    assert holders() is None


def test_arrays_of_empty_can_be_bound():
    sessions = {}
    for size in (1, 3, 16, 1000, 1008, 1012, 1020, 1024, 4096, 20000):
        for _ in range(20):
            array = skiff.empty(size)
            end = array.__array_interface__["data"][0] + array.nbytes
            assert array.ctypes.data % 64 == 0 and (end - 1) // 4096 == (end + 15) // 4096
        if size not in sessions:
            sessions[size] = skiff.convert(f"graph g {{ input x: f32[{size}] y = Neg(x) output y }}".encode()).session()
        array.fill(2)
        sessions[size].bind("x", array)
        assert (sessions[size]().y == -2).all()


def test_small_inputs_are_copied(add):
    session = add.session()
    a = A.copy()
    holder = weakref.ref(a)
    session(a, B)
    del a
    gc.collect()
    assert holder() is None


def test_views_share_the_sessions_memory(add):
    session = add.session()
    views = session.run({"a": A, "b": B}, copy=False)
    assert not views.sum.flags.owndata and not views.sum.flags.writeable
    np.testing.assert_array_equal(views.sum, A + 1)
    again = session.run({"a": B, "b": B}, copy=False)
    assert again.sum.__array_interface__["data"][0] == views.sum.__array_interface__["data"][0]
    np.testing.assert_array_equal(views.sum, 2 * B)


def test_views_keep_their_session_alive(add):
    session = add.session()
    view = session.run({"a": A, "b": B}, copy=False).sum
    session.close()
    assert session.closed()
    del session
    gc.collect()
    np.testing.assert_array_equal(view, A + 1)


def test_views_hold_memory_that_another_shape_would_move(unbounded):
    session = unbounded.session()
    small = np.ones((2, 4), np.float32)
    views = session.run({"x": small}, copy=False)
    session.run({"x": small})  # The same shape moves nothing.
    with pytest.raises(skiff.InvalidArgument, match="views of the last outputs"):
        session(np.ones((5000, 4), np.float32))
    del views
    gc.collect()
    assert session(np.ones((5000, 4), np.float32)).y.shape == (5000, 8)


def test_a_view_may_be_the_input_of_the_next_run():
    """An output that is its input lies in the caller's memory."""
    session = skiff.convert(b"graph g { input x: f32[256, 256] y = Identity(x) output y }").session()
    x = np.arange(65536, dtype=np.float32).reshape(256, 256)
    view = session.run({"x": x}, copy=False).y
    del x
    for _ in range(3):
        view = session.run({"x": view}, copy=False).y
    gc.collect()
    assert view[-1, -1] == 65535


def test_a_view_is_read_before_the_run_writes_it():
    """Its memory is the Session's: bound, the net would read what it writes."""
    source = b"graph g { input x: f32[600, 64] const w: f32[64, 64] = seed 1 a = MatMul(x, w) b = Exp(a) y = MatMul(b, w) output y }"
    model = skiff.convert(source)
    x = np.random.RandomState(0).rand(600, 64).astype(np.float32)
    expected = model(model(x).y).y
    session = model.session()
    view = session.run({"x": x}, copy=False).y
    np.testing.assert_array_equal(session.run({"x": view}, copy=False).y, expected)
    view = session.run({"x": x}, copy=False).y
    np.testing.assert_array_equal(session(view[:]).y, expected)
    with pytest.raises(skiff.InvalidArgument, match="'x' cannot be bound to an output of this session.*copy"):
        session.bind("x", view)
    model.session().bind("x", view)  # Another's is as good as any array.


@pytest.mark.parametrize("size", [3, 65536])
def test_views_are_read_before_an_input_is_set(size):
    """Outputs that are inputs, in each other's place."""
    source = f"graph g {{ input a: f32[{size}] input b: f32[{size}] x = Identity(a) y = Identity(b) output x output y }}"
    session = skiff.convert(source.encode()).session()
    views = session.run({"a": np.zeros(size, np.float32), "b": np.ones(size, np.float32)}, copy=False)
    for turn in range(1, 4):
        views = session.run({"a": views.y, "b": views.x}, copy=False)
        assert (views.x == turn % 2).all() and (views.y == (turn + 1) % 2).all()


def test_inputs_of_earlier_views_are_let_go():
    session = skiff.convert(b"graph g { input x: f32[1024, 64] y = Neg(x) output y }").session()
    kept = session.run({"x": np.zeros((1024, 64), np.float32)}, copy=False)
    x = np.zeros((1024, 64), np.float32)
    holder = weakref.ref(x)
    session.run({"x": x}, copy=False)
    del x
    session.run({"x": np.zeros((1024, 64), np.float32)}, copy=False)
    gc.collect()
    assert holder() is None and kept.y.shape == (1024, 64)


@pytest.mark.parametrize(
    "dtype, value, words",
    [
        ("i64", [1.7, 2.9], "int64, got reals"),
        ("i64", (1.0, 2.0), "int64, got reals"),
        ("i64", ["1", "2"], "int64, got elements of type <U1"),
        ("f32", ["1", "2"], "float32, got elements of type"),
        ("f32", [None, 2], "float32, got elements of type object"),
        ("f32", [1e300, 2], "float32, which does not hold 1e.300"),
        ("f16", [70000, 2], "float16, which does not hold 70000"),
        ("bool", [0.5, 0], "bool, got reals"),
        ("u8", [300, 2], "uint8, which does not hold 300"),
        ("u64", [-1, 2], "uint64, which does not hold -1"),
    ],
)
def test_lists_of_other_numbers(dtype, value, words):
    session = skiff.convert(f"graph g {{ input x: {dtype}[2] y = Identity(x) output y }}".encode()).session()
    with pytest.raises(skiff.InvalidArgument, match="input 'x' is " + words):
        session(value)
    assert session([True, False]).y.tolist() == [1, 0]
    if dtype != "bool":
        assert session([1, 2]).y.tolist() == [1, 2]
    if dtype.startswith("f"):
        assert session([0.5, float("inf")]).y.tolist() == [0.5, float("inf")]


def test_empty_refuses_what_is_no_shape():
    with pytest.raises(skiff.InvalidArgument, match="not negative"):
        skiff.empty((-5,))
    with pytest.raises(skiff.OutOfMemory, match="no memory"):
        skiff.empty((2**40, 2**40))
    assert skiff.empty((2**40, 0)).size == 0


def test_a_picture_with_its_channels_elsewhere_is_told_how_to_turn():
    def session(shape):
        return skiff.convert(f"graph g {{ symbol n: 1.. input x: f32{shape} y = Neg(x) output y }}".encode()).session(threads=1)

    for size in (4, 200):  # Copied, and read where it lies.
        for shape, given, order in (
            (f"[n, 3, {size}, {size}]", (2, size, size, 3), "0, 3, 1, 2"),
            (f"[1, {size}, {size}, 3]", (1, 3, size, size), "0, 2, 3, 1"),
        ):
            with pytest.raises(skiff.NoMatchingBucket) as caught:
                session(shape)(np.zeros(given, np.float32))
            assert str(caught.value).endswith(f"got {list(given)}; the axes are in another order: array.transpose({order})")
    with pytest.raises(skiff.NoMatchingBucket, match="'skiff convert' makes"):
        session("[n, 3, 4, 5]")(np.zeros((1, 3, 5, 5), np.float32))


def test_state():
    source = b"graph g { input x: f32[2] input s: f32[2] t = Add(x, s) output y = t output t }"
    model = skiff.convert(source, state={"s": "t"})
    assert [variable.name for variable in model.variables] == ["s"] and model.variables[0].shape == (2,)
    session = model.session()
    one = np.ones(2, np.float32)
    assert [session(one).y[0] for _ in range(3)] == [1, 2, 3]
    saved = session.state
    np.testing.assert_array_equal(saved["s"], [3, 3])
    session.reset_state()
    assert session(one).y[0] == 1
    session.state = saved
    assert session(one).y[0] == 4
    with pytest.raises(TypeError, match=r'session\.state = \{"name": array\}'):
        session.state["s"] = one
    with pytest.raises(TypeError, match="a copy"):
        session.state.update(s=one)
    assert type(pickle.loads(pickle.dumps(saved))) is dict and copy.deepcopy(saved).keys() == saved.keys()
    session.state = {**saved, "s": [10, 20]}
    np.testing.assert_array_equal(session(one).y, [11, 21])
    other = model.session(state_of=session)
    assert other(one).y[1] == 22 and session(one).y[1] == 23
    with pytest.raises(skiff.InvalidArgument, match="t"):
        session.state = {"t": one}
    with pytest.raises(skiff.InvalidArgument):
        session.state = {"s": np.ones(3, np.float32)}


def test_state_of_other_numbers():
    source = b"graph g { input x: f32[2] input s: i32[2] t = Neg(s) y = Neg(x) output y output t }"
    session = skiff.convert(source, state={"s": "t"}).session()
    session.state = {"s": [1, 2]}
    with pytest.raises(skiff.InvalidArgument, match="variable 's' is int32, got reals"):
        session.state = {"s": [1.9, 2.9]}
    assert session.state["s"].tolist() == [1, 2]


def test_profile_and_memory(open_shapes):
    with open_shapes.session(profile=True) as session:
        session(np.ones((64, 4), np.float32))
        nodes = session.profile()
        assert nodes and all(node.duration_ns > 0 for node in nodes if not node.shape_program)
        assert sum(node.multiply_adds for node in nodes) == 64 * 4 * 8
        memory = session.memory
        assert memory.arena > 0 and memory.mapped_weights == open_shapes.weights_bytes
    with pytest.raises(skiff.InvalidArgument, match="closed"):
        session.profile()
    assert "closed" in repr(session)


def test_options(add):
    assert add.session(threads=1).threads == 1
    pool = skiff.ThreadPool(2)
    assert add.session(pool=pool)(A, B).sum[0, 0] == 1
    assert add.session(backend="reference")(A, B).sum[0, 0] == 1
    tapped = add.session(keep_intermediates=True)
    tapped(A, B)
    np.testing.assert_array_equal(tapped.tap("sum"), A + 1)
    for options, words in (
        ({"threads": 0}, "threads is 0"),
        ({"threads": 1000}, "threads"),
        ({"target": "tpu"}, "'cpu', 'vulkan'"),
        ({"backend": "fast"}, "'planned', 'reference'"),
        ({"signature": "other"}, "no signature 'other'; it has 'main'"),
        ({"memory_limit": 0}, "memory_limit"),
    ):
        with pytest.raises(skiff.InvalidArgument, match=words):
            add.session(**options)
    with pytest.raises(skiff.OutOfMemory) as caught:
        add.session(memory_limit=1)
    assert isinstance(caught.value, MemoryError) and caught.value.code == "out of memory"
    with pytest.raises(skiff.Unsupported, match="vulkan"):
        add.session(target="vulkan")


def test_a_pool_outlives_its_name(add):
    session = add.session(pool=skiff.ThreadPool(2))
    gc.collect()
    np.testing.assert_array_equal(session(A, B).sum, A + 1)


def test_arun(add):
    session = add.session()

    async def main():
        return await session.arun(A, b=B)

    np.testing.assert_array_equal(asyncio.run(main()).sum, A + 1)


def test_what_is_no_array_is_named(open_shapes):
    session = open_shapes.session()
    name = open_shapes.inputs[0].name
    with pytest.raises(skiff.InvalidArgument, match="shape is 3"):
        session.input(name, 3)
    ones = np.ones((2, 4), np.float32)
    for masked in (np.ma.array(ones, mask=True), np.ma.array(ones)[::-1]):
        with pytest.raises(skiff.InvalidArgument, match=f"input '{name}' is a masked array"):
            session(masked)
    for date in (np.datetime64("2026-01-01"), np.timedelta64(1, "s"), np.bytes_(b"ab")):
        with pytest.raises(skiff.InvalidArgument, match="which Skiff does not have"):
            skiff.Tensor(date)
    np.testing.assert_array_equal(session(ones.view(np.matrix))[0], session(ones)[0])  # NumPy's other classes are arrays.
    with pytest.raises(skiff.OutOfMemory, match=f"input '{name}' is .*no memory for a copy"):
        session(np.broadcast_to(np.float32(1), (2**40, 4)))


def test_names_in_errors_do_nothing_to_a_terminal():
    with pytest.raises(skiff.Error) as error:
        skiff.convert(b'graph g { input x: f32[1] y = Abs("\x1b[2J") output y }')
    assert "\x1b" not in str(error.value)
