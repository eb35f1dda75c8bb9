"""Every golden value holds, and the runner says so in the agreed form."""

from __future__ import annotations

import json
import math

import pytest

from tests import golden_runner
from tests.golden_runner import close, differences, main


def ran(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    lines = capsys.readouterr().out.splitlines()
    return code, lines


@pytest.mark.parametrize("part", ["agreement", "agreement-bugcases.json", "metrics"])
def test_all_golden_cases_pass(shared, capsys, part):
    code, lines = ran(capsys, shared / "golden" / part)
    assert lines[-1].endswith(" passed, 0 failed"), lines
    assert code == 0
    assert int(lines[-1].split()[0]) >= {"agreement": 89, "metrics": 100}.get(part, 18)


@pytest.fixture
def case(tmp_path):
    def write(file="one.json", **changes):
        content = {
            "name": "one",
            "statistic": "wilson_ci",
            "input": {"k": 1, "n": 2},
            "params": {"confidence": 0.95},
            "expected": {"value": 0.5},
            "tolerance": 1e-9,
        }
        path = tmp_path / file
        path.write_text(json.dumps(content | changes))
        return path

    return write


def test_a_case_that_holds_passes(case, capsys):
    assert ran(capsys, case()) == (0, ["1 passed, 0 failed"])


def test_a_case_that_does_not_hold_fails_and_is_named(case, capsys):
    code, lines = ran(capsys, case(expected={"value": 0.4, "no": 1, "reason": "x"}))
    assert code == 1
    assert "FAILED one" in lines[0] and "expected 0.4" in lines[0]
    assert "no no" in lines[0] and "no reason given" in lines[0]
    assert lines[-1] == "0 passed, 1 failed"


def test_a_statistic_the_product_lacks_fails_and_is_named(case, capsys):
    code, lines = ran(capsys, case(statistic="phrenology"))
    assert (code, lines[-1]) == (1, "0 passed, 1 failed")
    assert "phrenology" in lines[0]


def test_a_statistic_can_be_chosen(case, tmp_path, capsys):
    case()
    case("two.json", statistic="holm", input={"p": [1]}, expected={"adjusted": [1]})
    assert ran(capsys, tmp_path, "--statistic", "holm") == (0, ["1 passed, 0 failed"])
    code, lines = ran(capsys, tmp_path, "--statistic", "holm", "unheard_of")
    assert (code, lines[-1]) == (1, "1 passed, 1 failed")
    assert "unheard_of" in lines[0]


def test_what_cannot_be_read_fails_with_a_sentence(tmp_path, case, capsys):
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "strange.json").write_text("{}")
    code, lines = ran(capsys, tmp_path, tmp_path / "absent")
    assert (code, lines[-1]) == (1, "0 passed, 3 failed")
    assert "cannot be read" in lines[0] and "strange" in lines[1] and "no such" in lines[2]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.json", "5"),
        ("a.json", "null"),
        ("a.json", '"x"'),
        ("a.json", "[]"),
        ("a.json", "[1, {}]"),
        ("kendall.json", '{"cases": [], "abs_tol": 0}'),
    ],
)
def test_a_file_without_a_case_fails_with_a_sentence(tmp_path, capsys, file, text):
    (tmp_path / file).write_text(text)
    code, lines = ran(capsys, tmp_path)
    assert (code, lines[-1]) == (1, "0 passed, 1 failed")
    assert "holds no case" in lines[0]


def test_a_case_whose_input_breaks_fails_alone(case, tmp_path, capsys):
    case()
    case("broken.json", name="broken", input={"k": 3, "n": 2})
    code, lines = ran(capsys, tmp_path)
    assert (code, lines[-1]) == (1, "1 passed, 1 failed")
    assert "3 of 2 is no share" in lines[0]


@pytest.mark.parametrize(
    ("expected", "answer", "same"),
    [
        (None, None, True),
        (None, math.nan, False),
        (None, 0, False),
        (1.0, math.nan, False),
        (1.0, None, False),
        (1.0, True, False),
        (True, 1, False),
        (1.0, 1.0 + 1e-10, True),
        (1.0, 1.1, False),
        ([1, None], (1, None), True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ("x", "x", True),
    ],
)
def test_values_are_compared_strictly(expected, answer, same):
    assert close(expected, answer, 1e-9) is same


def test_a_relative_tolerance_grows_with_the_value():
    assert differences({"v": 1e6}, {"v": 1e6 + 1}, 1e-9, 1e-5) == []
    assert differences({"v": 1e6}, {"v": 1e6 + 100}, 1e-9, 1e-5)


def test_a_formula_can_only_calculate():
    from tests.golden_statistics import evaluated

    assert evaluated("u%5 if u%2 else (u mod 3)", "u", 4) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Call"):
        evaluated("open('x')", "u", 1)


def test_the_runner_is_a_script_beside_the_tests():
    assert golden_runner.__file__.endswith("tests/golden_runner.py")
