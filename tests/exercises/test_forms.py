"""Answers in the wrong form, and answers that would break a careless checker."""

import bdb
import importlib
import random
import signal
import sys
import threading
import time

import pytest
import torch
import torch.nn.functional as F

from attn_edu.exercises import calling, check, counting, exercise


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 0.75)


def right(query, key):
    return query @ key.mT


def raises(error):
    def answer(query, key):
        raise error

    return answer


class RudeError(Exception):
    def __str__(self):
        raise RuntimeError("no message for you")


class Stubborn(torch.Tensor):
    """A tensor that says that it is close to everything."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.isclose:
            return torch.ones((), dtype=torch.bool)
        return super().__torch_function__(function, types, args, kwargs or {})


FORMS = [
    (lambda query, key: print("x"), "returned None"),
    (lambda query, key: [[1.0]], "a list"),
    (lambda query, key: (query @ key.mT).numpy(), "ndarray"),
    (lambda query, key: 3.0, "a float"),
    (lambda query, key: (query @ key.mT,), "a tuple"),
    (lambda query, key: right, "a function"),
    (lambda query, key: (query @ key.mT).sum(), "shape is ()"),
    (lambda query, key: (query @ key.mT)[..., :1], "shape is"),
    (lambda query, key: (query @ key.mT)[None], "shape is (1, 2, 3)"),
    (lambda query, key: (query @ key.mT).long(), "dtype is torch.int64"),
    (lambda query, key: query @ key.mT > 0, "dtype is torch.bool"),
    (lambda query, key: (query @ key.mT).to(torch.complex128), "dtype is torch.complex128"),
    (lambda query, key: query @ key.mT * float("nan"), "NaN, in 6 of 6 places"),
    (lambda query, key: (query @ key.mT).to_sparse(), "sparse"),
    (lambda query, key: (query @ key.mT).to("meta"), "meta"),
    (lambda query, key: query.new_zeros(1).expand(10**12), "1000000000000 numbers"),
    (lambda query, key: torch.empty(0), "shape is (0,)"),
    (lambda query, key: query @ key, "raised RuntimeError: mat1 and mat2"),
    (lambda query, key: 1 / 0, "raised ZeroDivisionError: division by zero"),
    (lambda query, key: unknown, "raised NameError: name 'unknown' is not defined"),  # noqa: F821
    (lambda query, key: query.mul_(2) @ key.mT, "changed its input `query`"),
    (lambda query, key: query @ key.fill_(1).mT, "changed its input `key`"),
    (lambda query, key: query @ key.t_(), "changed its input `key`"),
    (lambda query, key: query @ key.mT + torch.rand(()), "Two calls with the same input"),
    (lambda query: query, "cannot be called as f(query, key)"),
    (lambda query, key, mask: query, "cannot be called as f(query, key)"),
    (raises(SystemExit), "tried to end Python"),
    (raises(SystemExit(3)), "tried to end Python"),
    (raises(KeyboardInterrupt), "interrupted"),
    (raises(GeneratorExit), "raised GeneratorExit"),
    (raises(BaseException("odd")), "raised BaseException: odd"),
    (raises(NotImplementedError("no kernel for Half")), "no kernel for Half"),
    (raises(RudeError()), "raised RudeError"),
    (raises(RecursionError("too deep")), "raised RecursionError"),
    (raises(calling.AnswerError("forged")), "raised AnswerError: forged"),
    (lambda query, key: sys.exit("bye"), "tried to end Python"),
    (42, "needs the function itself"),
    (torch.ones(2, 3), "needs the function itself"),
]


class Scores(torch.nn.Module):
    def forward(self, query, key):
        return query @ key.mT


def yields(query, key):
    yield query @ key.mT


FORMS += [  # and what to do about it
    (lambda query, key: (query @ key.mT).numpy(), "`torch.from_numpy` makes one of it."),
    (lambda query, key: (query @ key.mT).tolist(), "`torch.tensor` makes one of numbers"),
    (lambda query, key: (query @ key.mT, query), "a comma behind it makes a tuple."),
    (yields, "a `yield` in the place of the `return`?"),
    (lambda query, key: lambda: query @ key.mT, "a call missing, with its brackets?"),
    (lambda query, key: torch.zeros(query.shape) @ key.mT, "`dtype=x.dtype`"),
    (lambda query, key: torch.matmul(query, key.mT, out=torch.zeros(0)), "`dtype=x.dtype`"),
    (raises(RuntimeError("Expected all tensors to be on the same device")), "are on the CPU"),
    (raises(AssertionError("Torch not compiled with CUDA enabled")), "are on the CPU"),
    (raises(EOFError("EOF when reading a line")), "Does it call `input()`?"),
    (raises(bdb.BdbQuit), "Is there a `breakpoint()` left in it?"),
    (Scores, "was given the class Scores; it needs a function, or an object"),
]


@pytest.mark.parametrize(("answer", "said"), FORMS)
def test_form_is_named(answer, said):
    result = check("02.scores", answer)
    assert not result.passed
    assert result.status == "form"
    assert said in result.message
    assert said in str(result).replace("\n", " ")  # its lines are short
    assert "<div" in result._repr_html_()


EMPTY = {
    "ellipsis": lambda query, key: ...,
    "none itself": None,
    "ellipsis itself": ...,
    "not implemented": raises(NotImplementedError),
    "not implemented, called": raises(NotImplementedError()),
}


@pytest.mark.parametrize("answer", EMPTY.values(), ids=EMPTY)
def test_not_attempted(answer):
    assert str(check("02.scores", answer)) == "02.scores · not attempted yet"


def test_not_attempted_with_docstring_pass_or_a_gap():
    def with_docstring(query, key):
        """Scores."""

    def with_pass(query, key):
        pass

    def with_gap(query, key):
        scores = ...
        return scores

    for answer in (with_docstring, with_pass, with_gap):
        assert check("02.scores", answer).status == "not attempted"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "a bool"),
        ("3", "a str"),
        (1j, "a complex"),
        (torch.tensor([3]), "a tensor of shape (1,)"),
        (torch.tensor(1j), "complex"),
        (float("nan"), "It is NaN"),
        (10**400, "beyond every float"),
    ],
)
def test_what_is_no_number_where_a_number_is_expected(value, said):
    result = check("01.path_length", lambda n, kind, window: value)
    assert result.status == "form"
    assert said in result.message


def test_an_error_says_which_argument_was_none():
    def answer(query, key, mask):
        return (query @ key.mT).masked_fill(~mask, -torch.inf).softmax(-1)

    assert "NoneType' (in line 2 of it) (In this case `mask` is None.)" in str(
        check("02.attention_weights", answer)
    ).replace("\n", " ")
    assert "None" not in check("02.scores", lambda query, key: query @ key).message


def test_an_object_that_can_be_called_is_as_good_as_a_function():
    assert check("02.scores", Scores()).passed
    assert check("02.scores", Scores().forward).passed


def test_forgotten_return_is_not_an_untouched_starter():
    def answer(query, key):
        scores = query @ key.mT  # noqa: F841

    assert "returned None" in check("02.scores", answer).message


def test_a_subclass_that_is_close_to_everything_does_not_pass():
    assert not check("02.scores", lambda q, k: (q @ k.mT * 2).as_subclass(Stubborn)).passed


def test_broadcasting_does_not_pass():
    """A reference of equal rows would equal one row by broadcasting."""
    assert not check("02.padding_mask", lambda lengths, n: torch.arange(n) < lengths.max()).passed
    assert not check("02.scores", lambda q, k: (q @ k.mT)[..., :1, :]).passed


def test_a_view_of_the_input_is_allowed():
    assert check("03.split_heads", lambda x, h: x.unflatten(-1, (h, -1)).transpose(1, 2)).passed


def test_a_value_that_changes_after_it_was_returned_is_not_followed():
    kept = []

    def answer(query, key):
        for old in kept:
            old.zero_()
        kept.append(query @ key.mT)
        return kept[-1]

    assert check("02.scores", answer).passed


def spins(query, key):
    while True:
        pass


def sleeps(query, key):
    time.sleep(60)


swallowed = []


def swallows(query, key):
    while True:
        try:
            time.sleep(0.001)
        except BaseException:
            swallowed.append(1)
            continue


def cleans_up(query, key):
    try:
        while True:
            pass
    finally:
        query.sum()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
@pytest.mark.parametrize("answer", [spins, sleeps, swallows, cleans_up])
def test_an_answer_that_hangs_is_stopped(short, answer):
    swallowed.clear()
    before = signal.getsignal(signal.SIGALRM)
    result = check("02.scores", answer)
    assert result.status == "form"
    assert "stopped after 0.75 seconds" in result.message
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert len(swallowed) <= 3


def test_a_debugger_keeps_its_tracer(short):
    def tracer(*_):
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert "stopped" in check("02.scores", swallows).message
        kept = sys.gettrace()
    finally:
        sys.settrace(before)
    assert kept is tracer


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_an_alarm_outside_of_the_answer_does_nothing():
    handlers = []

    def answer(query, key):
        handlers.append(signal.getsignal(signal.SIGALRM))
        return query @ key.mT

    assert check("02.scores", answer).passed
    assert handlers[0](signal.SIGALRM, sys._getframe()) is None


def test_hanging_on_one_case_only_is_said_too(short):
    def answer(query, key):
        while query.ndim == 4:
            pass
        return query @ key.mT

    assert "stopped" in check("02.scores", answer).message


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_all_calls_together_have_one_limit(short):
    calls = []

    def slow(query, key):
        calls.append(1)
        time.sleep(0.3)
        return query @ key.mT

    assert "stopped after 0.75 seconds" in check("02.scores", slow).message
    assert len(calls) <= 3  # of 4


def test_endless_printing_is_kept_short(short):
    def answer(query, key):
        while True:
            print("again and again")

    result = check("02.scores", answer)
    assert "stopped" in result.message
    assert len(str(result)) < 1000


def test_the_line_of_an_error_is_told():
    def answer(query, key):
        query = query.mT
        return query @ key

    message = check("02.scores", answer).message
    assert message.startswith("It raised RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    assert message.endswith("(in line 3 of it)")


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join(20)
    return found[0]


def test_in_another_thread_a_loop_is_stopped_too(short):
    assert "stopped" in in_thread(lambda: check("02.scores", spins)).message


def test_in_another_thread_there_is_no_alarm_and_it_works_all_the_same():
    assert in_thread(lambda: check("02.scores", right)).passed
    raised = in_thread(lambda: check("02.scores", lambda q, k: 1 / 0))
    assert "ZeroDivisionError" in raised.message
    assert "end Python" in in_thread(lambda: check("02.scores", raises(SystemExit))).message


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_an_alarm_of_somebody_else_is_left_running():
    def ring(*_):
        raise AssertionError("far too early")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 600, 60)
        assert check("02.scores", right).passed
        remaining, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < remaining <= 600
        assert interval == 60
        assert signal.getsignal(signal.SIGALRM) is ring
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """`module(code)`: the name of a module with that code, not imported yet."""
    monkeypatch.syspath_prepend(tmp_path)

    def written(code):
        (tmp_path / "never_seen_before.py").write_text(code, "utf-8")
        return "never_seen_before"

    yield written
    sys.modules.pop("never_seen_before", None)


def by_statement(name):
    exec(f"import {name}", {})


both_clocks = pytest.mark.parametrize("clock", [lambda run: run(), in_thread], ids=["alarm", "not"])


@both_clocks
@pytest.mark.parametrize("load", [by_statement, importlib.import_module])
def test_an_import_takes_none_of_the_answers_time(clock, load, short, module):
    name = module("import time\ntime.sleep(1.5)")  # twice the limit

    def answer(query, key):
        load(name)
        return query @ key.mT

    assert clock(lambda: check("02.scores", answer)).passed
    assert name in sys.modules


@both_clocks
def test_after_an_import_a_loop_is_stopped_all_the_same(clock, short, module):
    name = module("import time\ntime.sleep(1)")

    def answer(query, key):
        by_statement(name)
        spins(query, key)

    assert "stopped after 0.75 seconds" in clock(lambda: check("02.scores", answer)).message


@both_clocks
def test_an_import_that_never_ends_is_stopped_too(clock, short, module, monkeypatch):
    monkeypatch.setattr(calling, "IMPORTS", 0.5)
    name = module("import time\nwhile True: time.sleep(0.001)")
    message = clock(lambda: check("02.scores", lambda query, key: by_statement(name))).message
    assert message == "It was stopped: its imports took more than 0.5 seconds."


def test_prints_are_kept_for_the_case_that_is_shown(capsys):
    def answer(query, key):
        print("shape", tuple(query.shape))
        print("<b>", file=sys.stderr)
        return key @ query.mT

    result = check("02.scores", answer)
    assert capsys.readouterr() == ("", "")
    assert result.misconception == "keys ask and queries answer"
    assert "shape (2, 2)" in str(result)
    assert "shape (2, 5, 4)" not in str(result)
    assert "&lt;b&gt;" in result._repr_html_()


def test_prints_before_an_error_are_kept():
    def answer(query, key):
        print("so far so good")
        return query @ key

    assert "so far so good" in str(check("02.scores", answer))


def test_closing_the_output_breaks_nothing(capsys):
    def answer(query, key):
        sys.stdout.close()
        return query @ key.mT

    assert check("02.scores", answer).passed
    print("still here")
    assert "still here" in capsys.readouterr().out


def test_global_state_is_as_before():
    torch.manual_seed(3)
    wanted = torch.rand(2)

    def answer(query, key):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float16)
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        random.random()
        return query @ key.mT

    torch.manual_seed(3)
    try:
        assert check("02.scores", answer).passed
        assert torch.empty(0).device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert torch.equal(torch.rand(2), wanted)


def test_an_answer_that_fails_only_without_a_mask_is_told_both():
    def answer(query, key, mask):
        scores = query @ key.mT  # not scaled
        return scores.masked_fill(~mask, -torch.inf).softmax(-1).nan_to_num()

    result = check("02.attention_weights", answer)
    assert result.misconception == "not scaled"
    assert "Besides: It raised TypeError" in result.message
    assert "no mask" in result.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda left, right: left @ right, "It returned a Tensor; expected are two tensors"),
        (lambda left, right: (left, right, right), "It returned a tuple; expected are two"),
        (lambda left, right: (left, None), "It returned None"),
        (lambda left, right: (left, 3.0), "It returned a float; expected is a tensor"),
        (lambda left, right: (right, left), "The shapes of the two factors are"),
        (lambda left, right: (left.mT, right), "The shapes of the two factors are"),
        (lambda left, right: (left.float(), right), "The two factors have different dtypes"),
        (lambda left, right: (left * torch.nan, right), "It holds NaN"),
    ],
)
def test_two_factors_of_a_wrong_form(change, message):
    reference = exercise("07.low_rank_factors").reference
    result = check("07.low_rank_factors", lambda matrix, rank: change(*reference(matrix, rank)))
    assert result.status == "form"
    assert message in result.message


def test_two_factors_may_share_the_sizes_as_they_like():
    reference = exercise("07.low_rank_factors").reference

    def turned(matrix, rank):
        left, right = reference(matrix, rank)
        turn = torch.randn(rank, rank, generator=torch.Generator().manual_seed(0)).double()
        return left @ turn, torch.linalg.inv(turn) @ right

    assert check("07.low_rank_factors", turned).passed


def test_an_answer_that_does_not_end_while_it_is_counted_has_not_passed(short):
    """Right values are not enough where the work matters and could not be seen."""
    right = exercise("07.linformer_attention").reference

    def slow(query, key, value, project_key, project_value):
        while query.shape[-2] == 24:  # the size that is counted
            pass
        return right(query, key, value, project_key, project_value)

    result = check("07.linformer_attention", slow)
    assert result.status == "form"
    assert "could not be counted. It was stopped after" in result.message
    assert check("07.linformer_attention", right).passed


def test_the_time_of_torchs_first_recording_is_not_the_answers(monkeypatch):
    waited = []
    monkeypatch.setattr(counting, "_make_ready", lambda: waited.append("ready"))
    monkeypatch.setattr(counting, "call", lambda *_: waited.append("called"))
    counting.steps(lambda: None)
    assert waited == ["ready", "called"]


def test_a_mistake_is_not_named_from_the_few_cases_that_ran():
    """It writes into the cache; all that ran is the empty cache, which proves little."""

    def in_place(query, key, value, past_key, past_value):
        past_key[..., -1:, :], past_value[..., -1:, :] = key, value
        return F.scaled_dot_product_attention(query, past_key, past_value)

    result = check("05.decode_step", in_place)
    assert result.status == "form"
    assert "It changed its input `past_key`" in result.message
