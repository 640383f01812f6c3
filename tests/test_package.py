import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolcall_lab import Run, cli
from toolcall_lab.doctor import examine

ROOT = Path(__file__).parent.parent


def test_importing_loads_nothing_heavy():
    code = "import sys, toolcall_lab, toolcall_lab.widgets; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True)
    roots = {name.split(".")[0] for name in loaded.split()}
    assert "toolcall_lab" in roots
    assert not roots & {
        "llama_cpp", "numpy", "matplotlib", "ipywidgets", "llm", "llguidance", "httpx", "IPython",
    }  # fmt: skip


def test_ask_shows_the_steps_the_call_its_result_and_the_answer(capsys, tmp_path):
    path = tmp_path / "run.jsonl"
    assert cli.main(["ask", "What is the weather in Tokyo?", "--save", str(path), "--prompt"]) == 0
    out = capsys.readouterr().out
    for words in (
        "SmolLM2-135M-Instruct Q4_1 + tools (live)",
        "call   get_weather(city='Tokyo')",
        "result Tokyo: 22 °C, sunny, humidity 40 %",
        "Step 2: prompt of",
        "Answer: ",
        "Ended:  answered.",
        "<|im_start|>tool",
    ):
        assert words in out
    assert "constrained" not in out
    assert Run.load(path).ending == "answered"


def test_ask_holds_a_model_that_does_not_call_by_itself(capsys):
    assert cli.main(["ask", "What is the weather in Tokyo?", "--adapter", "none"]) == 0
    out = capsys.readouterr().out
    for words in (
        "SmolLM2-135M-Instruct Q4_1 (live)",
        "its first step is constrained to a call",
        "call   get_weather(city='Tokyo')",
    ):
        assert words in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "hi", "--model", "nope.gguf"], "'nope.gguf' does not exist"),
        (["ask", "hi", "--n-ctx", "300"], "multiple of 256"),
        (["ask", "hi", "--adapter", "nope.gguf"], "'nope.gguf' does not exist"),
        (["ask", "  "], "question is empty"),
        (["ask", "hi", "--save", "/nowhere/run.jsonl"], "No such file"),
        (["ask", "hi", "--model", "~nobody/x.gguf"], "does not exist"),
        (["ask", "hi", "--model", "x" * 300], "no model named"),
    ],
)
def test_a_mistake_gets_one_sentence(capsys, arguments, message):
    assert cli.main(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_the_doctor_finds_this_machine_well(capsys, monkeypatch):
    monkeypatch.delenv("TOOLCALL_LAB_STATIC", raising=False)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    for name in ("Python", "compiler", "llama.cpp", "model", "memory", "Jupyter", "widgets"):
        assert name in out


def test_the_doctor_says_how_to_mend(monkeypatch, capsys):
    monkeypatch.setenv("TOOLCALL_LAB_MODEL", "nope.gguf")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = {check.name: check for check in examine()}
    assert (found["model"].state, found["compiler"].state) == ("fails", "note")
    assert "unset TOOLCALL_LAB_MODEL" in str(found["model"])
    assert found["widgets"].state == "fails"
    assert cli.main(["doctor"]) == 1


def test_setup_without_a_compiler_says_what_to_install(tmp_path):
    for name in ("pyproject.toml", "constraints.txt", "scripts/setup.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    hidden = ("PATH", "CXX", "PROGRAMFILES(X86)")  # where a compiler could be found
    environment = {key: value for key, value in os.environ.items() if key.upper() not in hidden}
    ran = subprocess.run(
        [sys.executable, "scripts/setup.py"],
        cwd=tmp_path,
        env=environment | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    for words in ("apt install build-essential", "xcode-select", "winget install"):
        assert words in ran.stderr
    assert not (tmp_path / ".venv" / "setup.stamp").exists()


def test_every_notebook_keeps_the_rules():
    paths = sorted((ROOT / "notebooks").rglob("*.ipynb"))
    assert len(paths) >= 3
    for path in paths:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert len(code) <= 25, path.name
        for cell in code:
            assert len("".join(cell["source"]).splitlines()) <= 20, (path.name, cell["source"])
            assert cell["execution_count"], (path.name, cell["source"])
            assert "create_chat_completion" not in "".join(cell["source"])
        outputs = json.dumps([cell["outputs"] for cell in code])
        for unwanted in ('"error"', "widget-view", str(ROOT), str(Path.home()), "/tmp/"):
            assert unwanted not in outputs, (path.name, unwanted)
        assert "widgets" not in notebook["metadata"]


def test_the_readmes_code_prints_what_it_says(capsys):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    said = readme.split("```text\n")[1].split("```")[0]
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == said
