"""`toolcall-lab check` and `models`: what a model of one's own can do, and what is there."""

import nbformat

from toolcall_lab import cli
from toolcall_lab.models import hub


def test_check_reports_what_the_embedded_model_does(capsys, tmp_path):
    for name, code in (("1_good", "1 + 1"), ("2_bad", "1 / 0")):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")
    arguments = ["check", "smollm2-135m", "--lessons", str(tmp_path)]
    assert cli.main(arguments) == 1  # because of the second notebook
    lines = capsys.readouterr().out.splitlines()
    found = {line[7:18].strip(): line[:6].strip() for line in lines if not line.startswith("  ")}
    assert found.pop("2_bad") == "fails"
    assert found.pop("1_good") == "ok"
    assert found.pop("template") == found.pop("own form") == found.pop("thinking") == "note"
    assert set(found.values()) <= {"ok", "note"}, lines
    assert {"model", "tokenizer", "ChatML", "lesson 3", "grammar", "the loop"} <= set(found)
    assert any("ZeroDivisionError" in line for line in lines)


def test_check_on_a_model_that_says_nothing_useful_goes_through(capsys, tiny_path):
    assert cli.main(["check", str(tiny_path), "--n-ctx", "8192"]) == 1
    out = capsys.readouterr().out
    assert "fails  lesson 1" in out
    assert "ok     tokenizer" in out
    assert "fails  the loop" in out


def test_models_says_what_is_here_and_what_is_loaded(capsys, monkeypatch, tmp_path, tiny_path):
    monkeypatch.setattr(hub, "_list", lambda: tmp_path / "models.json")
    assert cli.main(["models"]) == 0
    out = capsys.readouterr().out
    assert "* smollm2-135m           here, needs 0.3 GB" in out
    assert "  qwen3-4b               not here: toolcall-lab pull qwen3-4b" in out
    monkeypatch.setenv("TOOLCALL_LAB_MODEL", str(tiny_path))
    assert cli.main(["models"]) == 0
    out = capsys.readouterr().out
    assert f"* {tiny_path}" in out
    assert "  smollm2-135m " in out
