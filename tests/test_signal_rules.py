"""Rules over signals and over order: read strictly, asked without looking ahead."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import signal_rules, step_rules
from scoring.prefix_signals import PREFIX_SIGNALS, SeenStep, order_broken, traced
from scoring.run_monitor import Watched, figure, is_early, outcomes, watch
from scoring.signal_rules import BadRule
from scoring.step_rules import ACTIONS, AGENTS, BadOrder, broken_so_far, check, events_of

VALUES = (True, False, None)


def rule(text, **known):
    return signal_rules.parse(text)(known)


@pytest.mark.parametrize(
    ("text", "known", "wanted"),
    [
        ("a", {"a": True}, True),
        ("a", {}, None),
        ("not a and not b", {"a": False, "b": False}, True),
        ("not a and not b", {"a": True}, False),
        ("not a and not b", {"a": False}, None),
        ("a or b and c", {"a": True, "b": False}, True),
        ("(a or b) and c", {"a": True, "c": False}, False),
        ("at least 2 of (a, b, c)", {"a": True, "b": True}, True),
        ("at least 2 of (a, b, c)", {"a": True}, None),
        ("at least 2 of (a, b, c)", {"a": False, "b": False}, False),
        ("AT LEAST 1 OF (not a, b)", {"a": False}, True),
        ("not not a", {"a": True}, True),
    ],
)
def test_a_rule_says_yes_no_or_unknown(text, known, wanted):
    assert rule(text, **known) is wanted


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", 1, "the name of a signal is expected, not the end"),
        ("a and", 6, "not the end"),
        ("a b", 3, "'b' is not expected here"),
        ("(a or b", 8, "')' is expected"),
        ("at least 0 of (a)", 10, "a whole number from 1"),
        ("at least 3 of (a, b)", 10, "can never be"),
        ("at least 2 (a, b)", 12, "'of' is expected"),
        ("a; drop", 1, "the name of a signal"),
        ("and a", 1, "the name of a signal"),
        ("__import__('os')", 11, "'(' is not expected"),
        ("(" * 60 + "a" + ")" * 60, 42, "nested deeper"),
        ("a or " * 500 + "a", 2001, "at most 2000 characters"),
    ],
)
def test_a_rule_that_cannot_be_read_names_the_character(text, place, said):
    with pytest.raises(BadRule, match="character") as refused:
        signal_rules.parse(text)
    assert said in refused.value.reason
    assert refused.value.place == place


def test_an_unknown_signal_is_named_with_those_there_are():
    with pytest.raises(BadRule, match=r"no signal 'task'; there are: a, b"):
        signal_rules.parse("a and task", ["a", "b"])


@given(st.text(max_size=60))
def test_whatever_is_written_is_a_rule_or_refused(text):
    try:
        signal_rules.parse(text)
    except BadRule as refused:
        assert 1 <= refused.place <= len(text) + 1


def test_unknown_signals_never_decide_what_they_could_still_change():
    """A rule is yes or no exactly where every completion of the unknown ones says so."""
    texts = ("a and not b or c", "at least 2 of (a, not b, c)", "not (a or b) and c")
    for text in texts:
        parsed = signal_rules.parse(text)
        for values in itertools.product(VALUES, repeat=3):
            known = dict(zip("abc", values, strict=True))
            free = [name for name, value in known.items() if value is None]
            said = parsed(known)
            if said is None:
                continue
            for filled in itertools.product((True, False), repeat=len(free)):
                assert parsed({**known, **dict(zip(free, filled, strict=True))}) is said


# -- order --------------------------------------------------------------------------------------


def kept(text, events):
    return check(step_rules.parse(text), events.split())


@pytest.mark.parametrize(
    ("text", "events", "wanted", "step"),
    [
        ("iot, tsfm", "IoT TSFM", True, None),
        ("iot, tsfm", "TSFM IoT", False, 1),
        ("iot, tsfm", "IoT WO", False, None),
        ("not:tsfm, iot when tsfm", "WO FSMR", None, None),
        ("not:tsfm, iot when tsfm", "WO IoT TSFM", True, None),
        ("not:tsfm, iot when tsfm", "WO TSFM IoT", False, 2),
        ("not:tsfm, iot", "IoT IoT", True, None),
        ("pay, not:receipt, update", "pay update receipt", True, None),
        ("pay, not:receipt, update", "pay receipt update", False, 2),
        ("a, b, c", "a c b", False, 2),
        ("read*, open*", "read_moisture open_valve", True, None),
        ("a, a", "a", True, None),
    ],
)
def test_a_rule_of_order_names_the_step_that_breaks_it(text, events, wanted, step):
    found = kept(text, events)
    assert (found.kept, found.step) == (wanted, step)
    assert bool(found.why) == (wanted is not True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,,b", "a name is missing"),
        ("", "a name is missing"),
        ("a, not:b", "not:b stands last"),
        ("a when b when c", "once"),
        ("a when not:b", "plain name"),
        (",".join("a" * 51), "at most 50 names"),
        ("a" * 2001, "at most 2000"),
    ],
)
def test_a_rule_of_order_that_cannot_be_is_a_sentence(text, said):
    with pytest.raises(BadOrder, match=said):
        step_rules.parse(text)


def test_actions_are_known_by_their_name_before_the_arguments():
    steps = [("a", "open_valve(bed=4)"), ("b", "  read.it {}"), ("c", "")]
    assert events_of(steps, ACTIONS) == ["open_valve", "read.it", ""]
    assert events_of(steps, AGENTS) == ["a", "b", "c"]


events = st.lists(st.sampled_from("abcd"), max_size=8)
orders = st.sampled_from(["a, b", "not:b, a", "a, not:c, b, d", "not:b, a when c", "a, b when d"])


@given(orders, events, st.integers(0, 8))
def test_what_is_broken_by_a_step_does_not_depend_on_later_ones(text, done, cut):
    parsed = step_rules.parse(text)
    whole = list(broken_so_far(parsed, done))
    assert list(broken_so_far(parsed, done[:cut])) == whole[:cut]


@given(orders, events)
def test_once_broken_a_run_stays_broken(text, done):
    parsed = step_rules.parse(text)
    states = [found is not None for found in broken_so_far(parsed, done)]
    assert states == sorted(states)
    if any(states):
        assert check(parsed, done).kept is False


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4, unique=True), events)
def test_plain_rules_agree_with_sdialog(names, done):
    """Where no name is forbidden, sdialog 0.5.3 says the same (it wants an utterance first)."""
    evaluation = pytest.importorskip("sdialog.evaluation", reason="the extra bench is not here")
    assert check(step_rules.parse(", ".join(names)), done).kept == bool(
        evaluation.ToolSequenceValidator(list(names)).score(dialog_of(done))
    )


def test_a_leading_not_follows_sdialogs_documentation_not_its_code():
    evaluation = pytest.importorskip("sdialog.evaluation", reason="the extra bench is not here")
    validator = evaluation.ToolSequenceValidator(["not:receipt", "charge"])
    early, late = ["receipt", "charge"], ["charge", "receipt"]
    ours = [check(step_rules.parse("not:receipt, charge"), done).kept for done in (early, late)]
    assert ours == [False, True]
    assert [bool(validator.score(dialog_of(done))) for done in (early, late)] == [True, False]


def dialog_of(names):
    sdialog = pytest.importorskip("sdialog", reason="the extra bench is not here")
    said = sdialog.Event(agent="user", action="utter", content="hello", timestamp=0)
    calls = [
        sdialog.Event(
            agent="bot", action="tool", actionLabel="call", content={"name": name}, timestamp=n
        )
        for n, name in enumerate(names, start=1)
    ]
    return sdialog.Dialog(turns=[], events=[said, *calls])


# -- beginnings ---------------------------------------------------------------------------------

texts = st.sampled_from(["", "read()", "error: no such tag", "21"])
steps = st.lists(
    st.builds(
        SeenStep,
        agent=st.sampled_from(["iot", "tsfm"]),
        thought=texts,
        action=texts,
        observation=texts,
        meta=st.sampled_from([{}, {"state": "Invalid Action"}, {"state": "Valid Action"}]),
    ),
    max_size=14,
)
ORDER = {"order": order_broken(step_rules.parse("not:tsfm, iot"), AGENTS)}


@given(steps, st.integers(0, 14))
def test_no_signal_of_a_beginning_looks_ahead(run, cut):
    names = [*PREFIX_SIGNALS, "order"]
    assert traced(run[:cut], names, ORDER) == traced(run, names, ORDER)[:cut]


@given(steps)
def test_a_signal_that_is_yes_stays_yes(run):
    rows = traced(run, PREFIX_SIGNALS)
    for name in PREFIX_SIGNALS:
        values = [row[name] for row in rows]
        assert values == sorted(values)


def test_each_signal_of_a_beginning_is_yes_where_it_should_be():
    run = [
        SeenStep("a", "look", "read()", "21"),
        SeenStep("a", "", "read()", "21"),
        SeenStep("a", "look", "open()", "Error: tag not found"),
        SeenStep("a", "again", "open()", " ", meta={"state": "Invalid Action"}),
    ]
    first = {
        name: next((n for n, row in enumerate(traced(run, [name]), 1) if row[name]), None)
        for name in PREFIX_SIGNALS
    }
    assert first == {
        "tool_error": 3,
        "empty_observation": 4,
        "invalid_action": 4,
        "no_thought": 2,
        "repeated_action": 2,
        "repeated_thought": 3,
        "many_steps": None,
    }


def watched(name, observation, present, onset=None, **signals):
    run = [SeenStep("a", "t", "read()", text) for text in ("21", observation, "22")]
    return Watched(len(name), name, run, signals, present, onset)


def test_a_rule_over_beginnings_alarms_at_the_first_step_that_shows_it():
    parsed = signal_rules.parse("tool_error and not many_steps")
    assert is_early(parsed)
    alarm = watch(parsed, watched("one", "error", True, 3))
    assert (alarm.value, alarm.step, alarm.early) == (True, 2, True)
    assert watch(parsed, watched("two", "fine", True)).value is False


def test_a_rule_over_whole_runs_is_asked_at_the_end():
    parsed = signal_rules.parse("not cj and tool_error")
    assert not is_early(parsed)
    alarm = watch(parsed, watched("one", "error", True, 3, cj=False))
    assert (alarm.value, alarm.step, alarm.early) == (True, None, False)
    assert watch(parsed, watched("two", "error", True)).value is None


def test_precision_recall_and_lead_are_counted_from_the_alarms():
    parsed = signal_rules.parse("tool_error")
    runs = [
        watched("tp", "error", True, 3),
        watched("tp2", "failed", True, 1),
        watched("fp", "error", False),
        watched("fn", "fine", True, 2),
        watched("tn", "fine", False),
        watched("nobody", "error", None),
    ]
    alarms = [watch(parsed, run) for run in runs]
    found = outcomes(alarms)
    assert found["precision"].value == pytest.approx(2 / 3)
    assert found["recall"].value == pytest.approx(2 / 3)
    assert found["false_alarms"].value == pytest.approx(1 / 2)
    assert found["f1"].value == pytest.approx(2 / 3)
    assert (found["alarms"].detail["k"], found["alarms"].n) == (4, 6)
    assert found["lead"].value == pytest.approx(0)
    table = figure(parsed, alarms, "people")
    assert "without a label of people count for alarms only: 1" in table.note
    assert figure(parsed, [], "people").reason
