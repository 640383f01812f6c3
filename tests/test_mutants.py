"""The exercises' tests reject mutants of the solutions; `make test-all` prints the table."""

import pytest

from tests.mutants import mutants
from toolcall_lab.exercises import NAMES, task_of
from toolcall_lab.exercises.attempt import source_of
from toolcall_lab.exercises.grading import succeeded
from toolcall_lab.exercises.running import run

LEAST = 0.95
WORDING = "how it's worded is free, as the statement says"
EQUIVALENT = {  # exercise: a part of what was changed: why that is no mistake
    "executer_tool_call": {"'Unknown tool: '": WORDING},
    "recherche_web": {"'No page was found for: '": WORDING},
    "capstone": {"512 ->": "how long an answer may be is free"},
}


def test_a_mutant_is_another_program():
    source = "def f(a):\n    if a < 1:\n        return a + 2\n    return a[1:]\n"
    found = dict(mutants(source))
    assert len(found) == len(set(found.values())) == 9
    assert source not in [text + "\n" for text in found.values()]


def survives(task, source):
    """Whether all tests pass; those that come first are tried first."""
    outcomes = run([(source, task.name)], [(0, c.arguments) for c in task.cases], seconds=0.5)
    return all(succeeded(*pair) for pair in zip(task.cases, outcomes, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_tests_reject_mutants(name, capsys):
    task = task_of(name)
    found = list(mutants(source_of(task.solution)))
    alike = EQUIVALENT.get(name, {})
    assert all(any(part in what for what, _ in found) for part in alike)
    tried = [pair for pair in found if not any(part in pair[0] for part in alike)]
    alive = [what for what, source in tried if survives(task, source)]
    rejected = len(tried) - len(alive)
    with capsys.disabled():
        print(f"\n{name:<20}{rejected:>4} of {len(tried):>3} mutants rejected", end="")
        print(f", {len(found) - len(tried)} equivalent" if alike else "", end="")
        print("", *alive, sep="\n    alive: ", end=" ")
    assert rejected >= LEAST * len(tried), alive
