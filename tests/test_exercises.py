"""Every exercise: its stub, its solution, its known mistakes, its texts. Then the grader itself."""

import inspect
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time

import pytest

import toolcall_lab.exercises as exercises
from toolcall_lab.errors import ToolcallLabError
from toolcall_lab.exercises import NAMES, exercise, grading, progress, running, task_of
from toolcall_lab.exercises.attempt import source_of
from toolcall_lab.exercises.grading import grade, known_outcomes, recognised, succeeded
from toolcall_lab.exercises.messages import MESSAGES, say
from toolcall_lab.exercises.records import State, folder
from toolcall_lab.exercises.task import Code, Expect, Outcome, Text


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLCALL_LAB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TOOLCALL_LAB_LANGUAGE", raising=False)
    return tmp_path / "home"


def made(source, name):
    names = {}
    exec(source, names)
    return names[name]


@pytest.fixture(params=NAMES)
def task(request):
    return task_of(request.param)


def test_the_stub_is_not_attempted(task):
    stub = made(task.stub, task.name)
    assert grade(task, stub).status == "not attempted"
    parameters = inspect.signature(task.solution).parameters
    assert list(inspect.signature(stub).parameters) == list(parameters)


def test_the_solution_passes_and_is_found_by_its_name(task):
    result = grade(task, getattr(exercises, task.name))
    assert result.passed, [test.name for test in result.tests if not test.passed]


def test_the_shown_solution_is_a_whole_program(task):
    assert grade(task, made(source_of(task.solution), task.name)).passed


def test_each_known_mistake_fails_and_gets_its_own_hint(task):
    assert len(task.wrong) >= 6
    for wrong, outcomes in zip(task.wrong, known_outcomes(task), strict=True):
        pairs = list(zip(task.cases, outcomes, strict=True))
        assert not all(succeeded(case, outcome) for case, outcome in pairs), wrong.name
        found = recognised(task, outcomes)
        assert found is not None, wrong.name
        assert found.name == wrong.name


def test_known_mistakes_take_what_the_solution_takes(task):
    wanted = list(inspect.signature(task.solution).parameters)
    for wrong in task.wrong:
        assert list(inspect.signature(made(wrong.source, task.name)).parameters) == wanted


def texts(task):
    yield from (task.title, task.statement, task.explanation, *task.hints)
    yield from (wrong.hint for wrong in task.wrong)
    for case in task.cases:
        yield from (case.name, case.why)
        if isinstance(case.expected, Expect):
            yield case.expected.text


def test_every_text_exists_in_both_languages(task):
    for text in texts(task):
        assert text.en.strip()
        assert text.fr.strip()
        assert text.en != text.fr or re.fullmatch(r"[\W\d]*`?[^`]*`?[\W\d]*", text.en), text


def test_an_exercise_has_shown_and_hidden_tests(task):
    hidden = [case for case in task.cases if case.hidden]
    assert len(task.cases) - len(hidden) >= 4
    assert len(hidden) >= 2
    shown = {case.name for case in task.cases} - {case.name for case in hidden}
    assert shown.isdisjoint({case.name for case in hidden})
    parameters = list(inspect.signature(task.solution).parameters)
    for case in task.cases:
        assert list(case.arguments) == parameters[: len(case.arguments)]


def test_a_check_never_raises_whatever_comes_back(task):
    odd = [None, 0, "", [], {}, [[]], {"": None}, "x" * 100, [None, {}], {"type": 3}]
    for case in task.cases:
        if isinstance(case.expected, Expect):
            for value in odd:
                for log in ([], [["?"]], [["?", None], ["x", {}]]):
                    assert case.expected.check(Outcome(value, log=log)) in (True, False)


# --- the grader ---------------------------------------------------------------------------------

NAME = "executer_tool_call"


def answer(body, head="def executer_tool_call(tool_call, boite_a_outils):"):
    lines = "\n".join("    " + line for line in body.splitlines())
    return made(f"import json, os, itertools\n{head}\n{lines}\n", NAME)


def test_a_failing_test_shows_the_call_what_came_and_what_was_expected():
    source = next(w.source for w in task_of(NAME).wrong if w.name == "the result isn't a text")
    result = exercise(NAME).check(made(source, NAME))
    failed = next(test for test in result.tests if not test.passed)
    assert "def add(a, b):" in failed.sources[1]
    assert "log(" not in "".join(failed.sources)
    assert failed.call.startswith("executer_tool_call({'id': 'call_2'")
    assert failed.got.endswith("'result': 10}")
    assert failed.expected.endswith("'result': '10'}")
    assert failed.why in repr(result)
    assert result.status == "failing"
    assert not result.passed


def test_hidden_tests_show_their_family_and_verdict_and_no_data():
    result = exercise(NAME).check(answer("return 1"))
    hidden = [test for test in result.tests if test.hidden]
    assert hidden
    assert all(test.name and not (test.call or test.got or test.expected) for test in hidden)
    for word in ("Rome", "東京", "last_line", "unread"):
        assert word not in repr(result)
        assert word not in result._repr_mimebundle_()["text/html"]


def test_an_exception_shows_the_learners_line(tmp_path):
    file = tmp_path / "lesson.py"
    file.write_text(
        "def helper(x):\n    return x['no']\n\n\n"
        "def executer_tool_call(tool_call, boite_a_outils):\n    return helper(tool_call)\n"
    )
    names = {"__name__": "lesson"}
    exec(compile(file.read_text(), str(file), "exec"), names)
    result = exercise(NAME).check(names[NAME])
    assert result.tests[0].got == "it raised KeyError: 'no', in line 6: return helper(tool_call)"
    assert "worker.py" not in repr(result)


ENDLESS = {
    "a loop": "while True:\n    pass",
    "a loop that catches all": (
        "while True:\n    try:\n        x = 1\n    except BaseException:\n        pass"
    ),
    "a loop in C": "return list(itertools.count())",
    "a sleep": "import time\ntime.sleep(100)",
}


def test_the_time_limit_is_two_seconds():
    assert grading.SECONDS == 2


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(grading, "SECONDS", 0.5)


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_call_is_stopped_and_its_line_named(kind, impatient):
    result = exercise(NAME).check(answer(ENDLESS[kind]))
    assert result.tests[0].got.startswith("it didn't end, and was stopped after 0.5 s, in line ")
    assert result.tests[-1].hidden
    assert not result.tests[2].ran
    assert say("en", "not run") in repr(result)


def test_an_endless_call_is_stopped_off_the_main_thread_too(impatient):
    import threading

    found = []
    function = answer(ENDLESS["a loop that catches all"])
    thread = threading.Thread(target=lambda: found.append(exercise(NAME).check(function)))
    thread.start()
    thread.join(60)
    assert "in line" in found[0].tests[0].got


def test_one_endless_call_does_not_cost_the_others(impatient):
    body = "if tool_call['id'] == 'call_2':\n    while True: pass\n"
    result = exercise(NAME).check(answer(body + "return 1"))
    assert "it didn't end" in result.tests[1].got
    assert [test.got for test in result.tests if test.got][2:] == ["it returned 1"] * 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit()", "it called exit()"),
        ("raise SystemExit", "it called exit()"),
        ("os._exit(3)", "it ended the whole process (code 3)"),
        ("return input('?')", "it asked for input()"),
        ("breakpoint()", "it asked for input()"),
        ("return executer_tool_call(tool_call, boite_a_outils)", "it called itself without an end"),
        ("return 'x' * 10**10", "it used too much memory"),
        ("print({'result': 1})", "it printed \"{'result': 1}\" and returned nothing"),
        ("tool_call", "it returned nothing (None); is a `return` missing?"),
        ("print('x' * 10**7)\nreturn 1", "it returned 1"),
        ("tool_call.clear()\nreturn 1", "it changed its argument `tool_call`"),
        ("boite_a_outils.pop('search')\nreturn 1", "it changed its argument `boite_a_outils`"),
        ("return (1, 2)", "it returned (1, 2)"),
        ("x = []\nx.append(x)\nreturn x", "it returned [[["),
        ("return 'x' * 40_000_000", "a value of type str; plain data"),
        ("return list(range(300_000))", "a value of type list; plain data"),
        ("a = 1\nfor _ in range(60): a = [a, a]\nreturn a", "a value of type list; plain data"),
        ("import sys\nsys.stdout.close()\nreturn 1", "it returned 1"),
        ("import sys\nsys.stdout.buffer.write(b'x')\nreturn 1", "it returned 1"),
        ("for fd in range(3, 12):\n    try: os.write(fd, b'{}x\\n')\n    except OSError: pass",
         "it ended the whole process"),
        ("json.dumps = lambda *a, **k: '{}'\nreturn 1", "it returned 1"),
        ("class timeout(Exception): pass\nraise timeout", "it raised timeout"),
        ("return float('nan')", "it returned nan"),
        ("return '\\ud800'", "it returned '\\ud800'"),
        ("return 10**5000", "it returned <its repr raised ValueError>"),
        ("class X:\n    def __repr__(self): 1/0\nreturn X()", "repr raised ZeroDivisionError>"),
        ("raise KeyboardInterrupt", "it raised KeyboardInterrupt"),
        ("import sys\nsys.stdout = None\nos.close(1)\nreturn 1", "it returned 1"),
    ],
)  # fmt: skip
def test_what_a_function_does_is_said_in_a_sentence(body, said):
    result = exercise(NAME).check(answer(body))
    assert said in result.tests[0].got
    assert result.status == "failing"
    repr(result), result._repr_mimebundle_()


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (None, "nothing (None), not a function"),
        (dict, "a class, not a function"),
        ("text", "a value of type str, not a function"),
        (len, "a value of type builtin_function_or_method"),
        (lambda a, b: 1, "takes (a, b), and it must take (tool_call, boite_a_outils)"),
        (lambda *tools: 1, "takes (*tools)"),
        (lambda *, tool_call, boite_a_outils: 1, "takes (*, tool_call, boite_a_outils)"),
        (lambda tool_call, boite_a_outils, more: 1, "takes (tool_call, boite_a_outils, more)"),
        (type("\x1b[2J", (), {})(), "a value of type "),
    ],
)
def test_what_is_no_such_function_is_said(thing, said):
    result = exercise(NAME).check(thing)
    assert said in result.message
    assert (result.status, result.tests) == ("failing", ())
    assert said in repr(result)


def test_an_async_function_is_refused():
    function = answer("return 1", "async def executer_tool_call(tool_call, boite_a_outils):")
    assert "plain `def`" in exercise(NAME).check(function).message


def test_a_generator_is_refused():
    assert "use `return`" in exercise(NAME).check(answer("yield 1")).message


def test_what_pretends_to_be_a_function_is_refused():
    from unittest.mock import Mock

    class Liar:
        __class__ = property(lambda self: 1 / 0)

    class Loud:
        def __getattr__(self, name):
            raise RuntimeError(name)

    for thing in (Mock(spec=exercises.executer_tool_call), Liar(), Loud()):
        result = exercise(NAME).check(thing)
        assert "not a function" in result.message
        assert "\x1b" not in repr(result)


def test_odd_signatures_and_decorators_are_no_obstacle():
    import functools

    def logged(function):
        @functools.wraps(function)
        def around(*args, **options):
            return function(*args, **options)

        return around

    assert exercise(NAME).check(logged(made(source_of(exercises.executer_tool_call), NAME))).passed
    odd = made(source_of(exercises.executer_tool_call), NAME)
    odd.__signature__ = 5
    assert exercise(NAME).check(odd).passed
    ring = made(source_of(exercises.executer_tool_call), NAME)
    ring.__wrapped__ = ring
    assert exercise(NAME).check(ring).passed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_what_a_function_starts_ends_with_it(tmp_path):
    """It forks, and leaves a child that goes on."""
    mark = tmp_path / "alive"
    body = (
        f"if not os.fork():\n    import time\n    time.sleep(1.5)\n    open({str(mark)!r}, 'w')\n"
        "    os._exit(0)\nreturn 1"
    )
    started = time.monotonic()
    assert "it returned 1" in exercise(NAME).check(answer(body)).tests[0].got
    assert time.monotonic() - started < 20
    time.sleep(2)
    assert not mark.exists()


def test_a_check_inside_of_a_check_is_refused():
    body = (
        "from toolcall_lab.exercises import exercise\n"
        "return exercise('executer_tool_call').check(executer_tool_call).message"
    )
    result = exercise(NAME).check(answer(body))
    assert "a check inside of a check" in result.tests[0].got


def test_a_disarmed_watchdog_is_not_the_only_one(impatient, monkeypatch):
    monkeypatch.setattr(running, "SLACK", 0.5)
    monkeypatch.setattr(running, "LOADING", 0.5)
    body = "import faulthandler\nfaulthandler.cancel_dump_traceback_later()\nwhile True: pass"
    assert exercise(NAME).check(answer(body)).tests[0].got.startswith("it didn't end")


def test_a_path_object_in_sys_path_is_no_obstacle(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])
    assert exercise(NAME).check(exercises.executer_tool_call).passed


class Loud:
    def __reduce__(self):
        raise SystemExit


def test_a_schema_that_would_take_for_ever_is_refused():
    source = (
        "def tool_call_schema(tools):\n    d = {'a0': False}\n    for i in range(1, 60):\n"
        "        d[f'a{i}'] = {'anyOf': [{'$ref': f'#/$defs/a{i - 1}'}] * 2}\n"
        "    return {'$defs': d, '$ref': '#/$defs/a59'}"
    )
    result = exercise("tool_call_schema").check(made(source, "tool_call_schema"))
    assert result.status == "failing"


def test_a_subclass_of_the_exception_counts():
    source = source_of(exercises.definir_outil).replace("raise ValueError(", "raise Mine(")
    function = made(f"class Mine(ValueError): pass\n{source}", "definir_outil")
    assert exercise("definir_outil").check(function).passed


def test_what_cannot_be_copied_is_said():
    import threading

    lock = threading.Lock()

    def executer_tool_call(tool_call, boite_a_outils):
        with lock:
            return 1

    assert "can't be copied" in exercise(NAME).check(executer_tool_call).message
    loud = Loud()

    def executer_tool_call(tool_call, boite_a_outils):
        return loud

    assert "can't be copied" in exercise(NAME).check(executer_tool_call).message


@pytest.mark.parametrize("body", ["...", "pass", '"""Words."""', "raise NotImplementedError"])
def test_an_empty_function_is_not_wrong(body):
    ex = exercise(NAME)
    assert ex.check(answer(body)).status == "not attempted"
    assert ex.record().tries == 0


def test_a_function_may_use_what_is_beside_it():
    helpers = "import json\ndef run(call, box): return SOLVE(call, box)\n"
    from toolcall_lab.exercises import executer_tool_call

    names = {"SOLVE": executer_tool_call}
    exec(
        helpers + f"def {NAME}(tool_call, boite_a_outils): return run(tool_call, boite_a_outils)",
        names,
    )
    assert exercise(NAME).check(names[NAME]).passed


# --- hints, solution, progress ------------------------------------------------------------------


def wrong(name):
    source = next(w.source for w in task_of(NAME).wrong if w.name == name)
    return made(source, NAME)


def test_the_hint_for_a_known_mistake_comes_first_then_the_others():
    ex = exercise(NAME)
    ex.check(wrong("arguments by position"))
    hints = [str(ex.hint()) for _ in range(5)]
    assert "by name: `function(**arguments)`" in hints[0]
    assert [h.partition(":")[0] for h in hints[1:4]] == [f"**Hint {n} of 3" for n in (1, 2, 3)]
    assert "all the hints" in hints[4]
    assert str(ex.hint(2)) == hints[2]
    assert "no hint 9" in ex.hint(9)
    assert ex.record().hints == (1, 2, 3)


def test_the_solution_comes_after_three_different_tries():
    ex = exercise(NAME)
    for tries in range(3):
        assert f"you have made {tries}" in ex.solution()
        for _ in range(2):  # the same again is no new try
            ex.check(answer(f"return {tries}"))
    assert "def executer_tool_call(" in ex.solution()
    assert "import json" in ex.solution()
    assert ex.record().solution


def test_the_solution_comes_after_success():
    ex = exercise(NAME)
    assert "Bravo!" in repr(ex.check(exercises.executer_tool_call))
    assert "def executer_tool_call(" in ex.solution()
    assert ex.record().tries == 0
    assert exercise(NAME).status == "passed"
    assert "✓  5 executer_tool_call  passed · best 12/12" in repr(progress())


def test_a_changed_function_is_stale():
    ex = exercise(NAME)
    ex.check(answer("return 1"))
    assert not ex.is_stale(answer("return 1"))
    assert ex.is_stale(answer("return 2"))
    assert ex.is_stale(answer("def f(): return 1\nreturn f()"))
    names = {}
    for number in (1, 2):
        exec(
            f"def helper(): return {number}\n"
            "def executer_tool_call(tool_call, boite_a_outils): return helper()",
            names,
        )
        assert ex.is_stale(names[NAME])
        ex.check(names[NAME])


def test_the_same_code_has_the_same_fingerprint_in_each_session():
    script = (
        "from toolcall_lab.exercises.attempt import fingerprint\n"
        "def f(x): return x in {'string', 'integer', 'array', 'object'}\nprint(fingerprint(f))"
    )
    found = {
        subprocess.check_output(
            [sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}
        )
        for seed in "12"
    }
    assert len(found) == 1


def test_what_is_no_attempt_is_no_try():
    ex = exercise(NAME)
    ex.check(5)
    ex.check(answer("raise NotImplementedError('todo')"))
    assert ex.record().tries == 0


def test_an_unknown_name_or_language_is_said():
    with pytest.raises(ToolcallLabError, match="Did you mean 'executer_tool_call'"):
        exercise("executer_toolcall")
    with pytest.raises(ToolcallLabError, match="en or fr, not 'de'"):
        exercise(NAME, "de")


def test_the_language_is_the_editions(monkeypatch):
    assert "Exercice de la leçon 5 : " in repr(exercise(NAME, "fr"))
    monkeypatch.setenv("TOOLCALL_LAB_LANGUAGE", "fr")
    result = exercise(NAME).check(answer("return 1"))
    assert "attendu" in repr(result)
    assert "l'identifiant revient" in repr(result)


def test_every_message_has_both_languages_and_the_same_gaps():
    for key, text in MESSAGES.items():
        assert isinstance(text, Text)
        gaps = [sorted(re.findall(r"{(\w+)}", part)) for part in (text.en, text.fr)]
        assert gaps[0] == gaps[1], key


def test_a_broken_progress_file_is_kept_aside_and_said(home):
    home.mkdir()
    (home / "progress.json").write_text('{"exercises": [1')
    assert exercise(NAME).record().tries == 0
    result = exercise(NAME).check(answer("return 1"))
    assert "is kept as" in repr(result).replace("it's", "is")
    (kept,) = home.glob("progress.broken-*.json")
    assert kept.read_text() == '{"exercises": [1'
    assert exercise(NAME).record().tries == 1


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"exercises": {"a": 3}}',
        '{"exercises": {"a": {"best": 1}}}',
        "\x00",
        "[" * 200000,
        '{"exercises": {"executer_tool_call": {"tries": Infinity}}}',
    ],
)
def test_no_progress_file_breaks_a_lesson(home, text):
    home.mkdir()
    (home / "progress.json").write_text(text)
    repr(progress())
    repr(exercise(NAME))
    assert exercise(NAME).check(answer("return 1")).tests


def test_a_hint_says_that_the_file_was_broken(home):
    home.mkdir()
    (home / "progress.json").write_text("{")
    assert "couldn't be read" in exercise(NAME).hint(1)


def test_what_another_version_wrote_is_kept(home):
    home.mkdir()
    file = home / "progress.json"
    file.write_text('{"version": 1, "more": 7, "exercises": {"executer_tool_call": {"when": 5}}}')
    exercise(NAME).hint(1)
    kept = json.loads(file.read_text())
    assert (kept["more"], kept["exercises"][NAME]["when"]) == (7, 5)
    file.write_text('{"version": 2, "exercises": {}}')
    assert "version 2" in exercise(NAME).hint(1)
    assert json.loads(file.read_text())["version"] == 2


def test_a_folder_that_cannot_be_written_is_said(home):
    home.write_text("a file, not a folder")
    assert "couldn't be saved" in repr(exercise(NAME).check(answer("return 1")))


def _write(name):
    for n in range(30):
        assert State.update(folder(), name, lambda kept, n=n: kept.hinted(n)) == ""


def test_two_notebooks_at_once_lose_nothing(home):
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(name,)) for name in ("a", "b")]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    state = State.load(folder())
    assert state.of("a").hints == state.of("b").hints == tuple(range(30))
    assert json.loads((home / "progress.json").read_text())["version"] == 1


def test_code_arguments_show_their_names_and_sources():
    code = Code("import re\n\ndef f(x):\n    log('f', x)\n    return x\n\ng = f")
    assert repr(code) == "g"
    assert "log" not in code.shown()


def test_what_is_imported_stays_what_it_was():
    """No module has the name of a function: using one would put it in the function's place."""
    script = (
        "from toolcall_lab.exercises import exercise, progress\nrepr(progress())\n"
        "repr(exercise('agent_loop'))\nfrom toolcall_lab.exercises import exercise, progress\n"
        "import toolcall_lab.exercises.agent_loop\nfrom toolcall_lab.exercises import agent_loop\n"
        "assert all(callable(f) for f in (exercise, progress, agent_loop))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_it_works_in_plain_python(home):
    script = (
        "from toolcall_lab.exercises import exercise\n"
        "def executer_tool_call(tool_call, boite_a_outils):\n    return 1\n"
        "print(exercise('executer_tool_call').check(executer_tool_call))\n"
        "import sys; assert 'ipywidgets' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "your result  it returned 1" in done.stdout
