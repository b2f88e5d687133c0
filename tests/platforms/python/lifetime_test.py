"""Threads, signals, the log, and memory over many cycles."""

import gc
import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import skiff
from conftest import ADD, CHARACTERS, slow_source

NET = CHARACTERS / "characters.onnx"

#: The sanitizer keeps freed memory for a while, so that its use is seen.
SANITIZED = "SKIFF_SANITIZED" in os.environ

X = np.full((512, 512), 0.01, np.float32)


@pytest.fixture(scope="module")
def slow():
    """About a second and a half of work, in nodes of some milliseconds."""
    probe = skiff.convert(slow_source(20)).session(threads=1)
    begin = time.perf_counter()
    probe(X)
    each = (time.perf_counter() - begin) / 20
    return skiff.convert(slow_source(max(20, min(2000, int(1.5 / each)))))


def resident_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_threads(count, work):
    """Calls work(0) to work(count - 1) beside each other, and waits."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_memory_is_flat_over_ten_thousand_cycles():
    content = skiff.convert(ADD).to_bytes()
    a = np.ones((2, 3), np.float32)

    def cycle():
        with skiff.Model(content) as model, model.session(threads=1) as session:
            outputs = session(a, b=a)
            views = session.run({"a": a, "b": a}, copy=False)
            session.input("a")
            try:
                session(a, a, a)
            except skiff.InvalidArgument:
                pass
            return outputs.sum[0, 0] + views.twice[0, 0]

    for _ in range(2000):
        assert cycle() == 6
    gc.collect()
    before = resident_bytes()
    for _ in range(10000):
        cycle()
    gc.collect()
    assert SANITIZED or resident_bytes() - before < 1 << 20


COUNTED = b"""graph counted {
  input x: f32[8, 4]
  const all: i64[1] = [-1]
  const zero: f32[] = 0
  const column: i64[2] = [-1, 1]
  const row: f32[1, 500000] = seed 1
  s = ReduceSum(x) {axes=[1], keep_dims=false}
  m = Greater(s, zero)
  ones = Cast(m) {to=i64}
  n = ReduceSum(ones) {axes=[0], keep_dims=false}
  places = NonZero(m, n)
  rows = Reshape(places, all)
  taken = Gather(s, rows)
  c = Reshape(taken, column)
  y = Mul(c, row)
  output y = y
}"""


def test_what_a_run_counts_is_no_view_of_memory_that_the_next_run_moves():
    with skiff.convert(COUNTED).session(threads=1) as session:
        few = np.zeros((8, 4), np.float32)
        few[0] = 1
        first = session.run({"x": few}, copy=False)["y"]
        before = first.copy()
        assert session.run({"x": np.ones((8, 4), np.float32)}, copy=False)["y"].shape == (8, 500000)
        assert np.array_equal(first, before)


def test_conversions_leave_nothing():
    for _ in range(50):
        skiff.convert(ADD)
    gc.collect()
    before = resident_bytes()
    for _ in range(300):
        skiff.convert(ADD)
    gc.collect()
    assert SANITIZED or resident_bytes() - before < 2 << 20
    assert len(os.listdir("/proc/self/fd")) < 100


def test_sessions_of_one_model_in_several_threads(add):
    failures = []

    def work(number):
        try:
            session = add.session(threads=1)
            a = np.full((2, 3), number, np.float32)
            for i in range(300):
                b = np.full((2, 3), i, np.float32)
                if not (session(a, b).sum == number + i).all():
                    failures.append((number, i))
        except Exception as error:
            failures.append(error)

    in_threads(4, work)
    assert not failures


def test_many_threads_open_run_cancel_and_close(add):
    content = add.to_bytes()
    pool = skiff.ThreadPool(2)
    published = [None] * 8
    completed = [0] * 8
    failures = []

    def work(number):
        try:
            for i in range(20):
                with skiff.Model(content) as model:
                    with model.session(**({"pool": pool} if i % 2 else {"threads": 1})) as session:
                        published[number] = session
                        for run in range(20):
                            other = published[(number + run) % 8]
                            if run % 5 == 4 and other is not None:
                                other.cancel()
                            a = np.full((2, 3), number, np.float32)
                            b = np.full((2, 3), run, np.float32)
                            try:
                                if not (session(a, b).sum == number + run).all():
                                    failures.append((number, i, run))
                                completed[number] += 1
                            except skiff.Cancelled:
                                pass
                        published[number] = None
        except Exception as error:
            failures.append(error)

    in_threads(8, work)
    assert not failures
    assert min(completed) > 20 * 20 / 2  # A call of cancel, one for five runs, ends one at most.


def test_the_gil_is_free_and_a_second_thread_is_refused(slow):
    session = slow.session(threads=1)
    done = threading.Event()

    def work():
        session(X)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    refused = counted = 0
    while not done.is_set():
        counted += 1
        time.sleep(0.01)
        if done.is_set():
            break
        try:
            session(X)
        except skiff.InvalidArgument as error:
            assert "is in use, by another thread" in str(error)
            refused += 1
        with pytest.raises(skiff.InvalidArgument):
            session.close() if not done.is_set() else (_ for _ in ()).throw(skiff.InvalidArgument)
    thread.join()
    assert refused > 0 and counted > 10  # This thread went on meanwhile.


def test_cancel_from_another_thread(slow):
    session = slow.session(threads=1)
    begin = time.perf_counter()
    session(X)
    whole = time.perf_counter() - begin
    timer = threading.Timer(whole / 10, session.cancel)
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(skiff.Cancelled) as caught:
        session(X)
    assert time.perf_counter() - begin < whole * 0.8
    assert caught.value.code == "cancelled"
    timer.join()
    session(X)  # It runs again.


def test_ctrl_c_cancels_a_run(slow):
    session = slow.session(threads=1)
    begin = time.perf_counter()
    session(X)
    whole = time.perf_counter() - begin
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(whole / 10, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        session(X)
        time.sleep(0.01)  # Where it would arrive if the run had gone on to its end.
    assert time.perf_counter() - begin < whole * 0.8
    timer.join()
    assert signal.getsignal(signal.SIGINT) is before
    session(X)


def test_a_handler_that_does_not_raise_ends_the_run_as_cancelled(slow):
    session = slow.session(threads=1)
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(skiff.Cancelled):
            session(X)
        assert seen
    finally:
        signal.signal(signal.SIGINT, before)


def test_memory_of_a_running_session_is_refused(slow):
    session = slow.session(threads=1)
    runner = threading.Thread(target=session, args=(X,))
    runner.start()
    try:
        while runner.is_alive():
            try:
                assert session.memory["arena"] > 0
            except skiff.InvalidArgument:
                return
        pytest.fail("it was told while the Session ran")
    finally:
        session.cancel()
        runner.join()


def test_ctrl_c_ends_a_conversion():
    """At its next step."""
    steps = []

    def interrupt(step):
        steps.append(step)
        if len(steps) == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        skiff.convert(ADD, progress=interrupt)
    whole = []
    skiff.convert(ADD, progress=whole.append)
    assert len(steps) < len(whole)


@pytest.mark.parametrize("delay", [0.1, 0])
def test_arun_is_cancelled_with_its_task(slow, delay):
    """Also before the run has begun."""
    import asyncio

    session = slow.session(threads=1)
    begin = time.perf_counter()
    session(X)
    whole = time.perf_counter() - begin

    async def main():
        task = asyncio.ensure_future(session.arun(X))
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    begin = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - begin < whole * 0.6
    session(X)


def test_arun_that_waits_for_its_thread_is_not_run(slow):
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    session = slow.session(threads=1)
    busy = threading.Event()

    async def main():
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        first = loop.run_in_executor(None, busy.wait)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.arun(X), 0.05)
        busy.set()
        await first

    begin = time.perf_counter()
    session(X)
    whole = time.perf_counter() - begin
    begin = time.perf_counter()
    asyncio.run(main())  # Which waits for the executor's threads.
    assert time.perf_counter() - begin < whole * 0.6


def test_warnings_go_to_logging(caplog, tmp_path):
    """A cache file that is damaged is told of, and made anew."""
    path = tmp_path / "net.skiff"
    skiff.convert(ADD, target="vulkan").save(path)
    code = (
        "import logging, sys; logging.basicConfig(stream=sys.stdout, format='%(name)s %(levelname)s %(message)s');"
        "import skiff; s = skiff.Model(sys.argv[1]).session(target='vulkan'); print('runs on', s.target)"
    )
    environment = {**os.environ, "VK_DRIVER_FILES": str(tmp_path / "none.json"), "VK_ICD_FILENAMES": str(tmp_path / "none.json")}
    result = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=environment)
    assert "runs on cpu" in result.stdout, result
    assert "skiff WARNING" in result.stdout and "the cpu plan runs instead" in result.stdout


def test_the_command(tmp_path):
    def run(*words):
        return subprocess.run([sys.executable, "-m", "skiff", *words], capture_output=True, text=True, errors="replace")

    assert f"skiff {skiff.__version__}" in run("--version").stdout
    assert "convert" in run("--help").stdout
    source = tmp_path / "add.txt"
    source.write_bytes(ADD)
    model = tmp_path / "add.skiff"
    assert run("convert", str(source), "-o", str(model)).returncode == 0
    assert run("parity", str(source), str(model)).returncode == 0
    assert model.read_bytes() == skiff.convert(source).to_bytes()
    failed = run("convert", str(tmp_path / "none"), "-o", str(model))
    assert failed.returncode == 1 and "cannot be opened" in failed.stderr
    assert run("convert").returncode == 2
    odd = run("run", str(model), "-i", b"n\xff.npy")
    assert odd.returncode == 1 and "Traceback" not in odd.stderr, odd


def test_the_command_ends_with_its_pipe(tmp_path):
    steps = "\n".join(f"y{i} = Neg({'x' if i == 0 else f'y{i - 1}'})" for i in range(3000))
    source = tmp_path / "long.txt"
    source.write_text(f"graph g {{ input x: f32[3] {steps} output y2999 }}")
    command = f"{sys.executable} -m skiff inspect {source} --nodes | head -1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert result.stdout and result.stderr == "", result


def test_a_killed_interpreter_says_nothing():
    """Sessions and threads that are still there at the interpreter's end."""
    code = (
        "import skiff, numpy as np, threading, time\n"
        f"model = skiff.convert({ADD!r})\n"
        "a = np.ones((2, 3), np.float32)\n"
        "session = model.session(threads=2)\n"
        "view = session.run({'a': a, 'b': a}, copy=False)\n"
        "def work():\n"
        "    own = model.session()\n"
        "    while True: own(a, a)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.1)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0 and result.stderr == "", result


@pytest.mark.parametrize("call", ("top", "preprocess"))
def test_a_model_may_be_closed_by_what_it_reads(call):
    model = skiff.convert(NET, image=skiff.Image((32, 32), mean=127.5, scale=1 / 128), labels=CHARACTERS / "labels.txt")
    (name,) = [port.name for port in (model.outputs if call == "top" else model.inputs)]
    like = np.ones(model.outputs[0].shape, np.float32) if call == "top" else np.ones((32, 32, 3), np.uint8)

    class Closes:
        def __array__(self, *_, **__):
            model.close()
            self.written = [b"\xff" * size for size in range(16, 16384, 16)]  # Where it was.
            return like

    assert len(model.top(Closes()) if call == "top" else model.preprocess(name, Closes())) > 0
