"""Writes what `reliability.py` has found where people read it: tables, and lesson 9's chart."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable
from string import Template
from typing import Any

from evaluation import HERE

from toolcall_lab.widgets import Drawing, new_figure

ROOT = HERE.parent
Line = dict[str, Any]
COLUMNS = {  # of what a request needs: what is counted
    "json": "valid JSON",
    "known": "known tool",
    "valid": "valid arguments",
    "tool": "right tool",
    "arguments": "right arguments",
    "missed": "missed",
    "needless": "needless",
}
BFCL = ("simple", "multiple", "irrelevance")
LOOKS = {  # of the chart: label, colour (Okabe and Ito's), hatch
    "valid": ("valid call", "#56B4E9", ""),
    "tool": ("right tool", "#E69F00", "//"),
    "arguments": ("right arguments", "#009E73", "xx"),
    "needless": ("needless call", "#D55E00", ".."),
}


def report(models: Iterable[list[Line]]) -> None:
    """Writes `docs/reliability.md` and its chart, and the README's table."""
    tables = [lines for lines in models if lines]
    tables.sort(key=lambda lines: ("Qwen" in lines[0]["model"], lines[0]["model"]))
    docs = ROOT / "docs"
    (docs / "reliability.md").write_text(_page(tables), encoding="utf-8")
    (docs / "reliability.png").write_bytes(chart(tables).to_png())
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    rows = _markdown(tables, lambda line: line["kind"] not in BFCL and not line["examples"])
    marks = r"(<!-- reliability -->\n).*(<!-- /reliability -->)"
    found = re.sub(marks, lambda mark: mark[1] + rows + mark[2], text, flags=re.DOTALL)
    readme.write_text(found, encoding="utf-8")
    results = [
        {"model": lines[0]["model"], "rung": rung, "examples": examples, **shares(chosen)}
        for lines in tables
        for (rung, examples), chosen in _rows(lines)
    ]
    (HERE / "reliability.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def shares(lines: list[Line]) -> dict[str, Any]:
    """Shares of what was counted, from 0 to 1; medians of tokens, evaluations and seconds."""
    found: dict[str, Any] = {"requests": len(lines)}
    for column in COLUMNS:
        marks = [line[column] for line in lines if column in line]
        found[column] = round(sum(marks) / len(marks), 4) if marks else None
    for measure in ("tokens", "evaluations", "seconds"):
        found[measure] = statistics.median(line[measure] for line in lines)
    return found


def _rows(lines: list[Line]) -> list[tuple[tuple[str, bool], list[Line]]]:
    """The lines by rung and examples, in the order in which they were measured."""
    rows: dict[tuple[str, bool], list[Line]] = {}
    for line in sorted(lines, key=lambda line: line["examples"]):
        rows.setdefault((line["rung"], line["examples"]), []).append(line)
    return list(rows.items())


def _markdown(tables: list[list[Line]], wanted: Callable[[Line], bool]) -> str:
    heads = ["model", "", *COLUMNS.values(), "tokens", "seconds"]
    out = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for lines in tables:
        for (rung, examples), chosen in _rows([line for line in lines if wanted(line)]):
            found = shares(chosen)
            cells = ["–" if found[c] is None else f"{found[c]:.0%}" for c in COLUMNS]
            cells += [f"{found['tokens']:.0f}", f"{found['seconds']:.2f}"]
            name = rung + (", examples" if examples else "")
            out.append(f"| {lines[0]['model']} | {name} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def _page(tables: list[list[Line]]) -> str:
    counts = "; ".join(
        f"{lines[0]['model']}: {len({line['id'] for line in lines})}" for lines in tables
    )
    parts = {
        "The course's requests": lambda line: line["kind"] not in BFCL,
        "In English": lambda line: line["kind"] not in BFCL and line["language"] == "en",
        "In French": lambda line: line["language"] == "fr",
        "BFCL": lambda line: line["kind"] in BFCL,
    }
    shown = "\n".join(f"## {head}\n\n{_markdown(tables, of)}" for head, of in parts.items())
    page = Template((HERE / "reliability_page.md").read_text(encoding="utf-8"))
    return page.substitute(counts=counts, tables=shown)


def chart(tables: list[list[Line]]) -> Drawing:
    """Bars for each model and rung, without and with examples."""
    figure, axes = new_figure(11, 2.6 * len(tables), rows=len(tables), squeeze=False)
    for axis, lines in zip(axes[:, 0], tables, strict=True):
        rows = _rows(lines)
        for n, (column, (label, color, hatch)) in enumerate(LOOKS.items()):
            heights = [100 * (shares(chosen)[column] or 0) for _, chosen in rows]
            places = [place + (n - 1.5) * 0.2 for place in range(len(rows))]
            bars = axis.bar(places, heights, 0.19, color=color, hatch=hatch, label=label)
            axis.bar_label(bars, fmt="%.0f", fontsize=7)
        names = [
            rung.replace(" of ", "\nof ") + ("\n+ examples" if e else "") for (rung, e), _ in rows
        ]
        axis.set_xticks(range(len(rows)), names, fontsize=8)
        axis.set_ylim(0, 112)
        axis.set_ylabel("%")
        count = len({line["id"] for line in lines})
        axis.set_title(f"{lines[0]['model']}, {count} requests", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), ncols=4, loc="outside upper center")
    return Drawing(figure, "Bars for each model and rung, without and with examples.")
