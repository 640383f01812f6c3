"""Building blocks of the views: escaping, visible marks, colours, the bundle that a notebook shows.

Everything that a model, a tool or a user wrote goes through `esc` or `marked`. Styles are inline
(JupyterLab drops `<style>` from notebooks it doesn't trust yet), and one style sheet on top follows
JupyterLab's theme. Colours never carry a meaning alone: each author has a sign and a word.
"""

from __future__ import annotations

import html
import os
import re
import unicodedata
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Look:
    """How an author is shown. Colours: Okabe and Ito's, told apart by colour-blind readers."""

    sign: str
    color: str
    tint: str


LOOKS = {
    "system": Look("■", "#0072B2", "#DBEAF4"),
    "user": Look("▲", "#E69F00", "#FCF1DB"),
    "model": Look("●", "#009E73", "#DBF1EB"),
    "tool": Look("◆", "#CC79A7", "#F8EAF2"),
    "structure": Look("·", "#767676", "#EEEEEE"),
}

# In JupyterLab's theme the tints are mixed with the theme's own colours, light or dark.
STYLE = (
    "<style>"
    ".tcl-view,.tcl-view table{color:var(--jp-content-font-color1,#111)!important}"
    ".tcl-view tr{background:transparent!important}"
    ".tcl-view td{border-bottom-color:var(--jp-layout-color1,#fff)!important}"
    ".tcl-view .tcl-chip{background:var(--jp-layout-color2,#eee)!important;"
    "color:var(--jp-content-font-color1,#111)!important}"
    + "".join(
        f".tcl-view .tcl-{author}{{color:var(--jp-content-font-color1,#111)!important;background:"
        f"color-mix(in srgb,{look.color} 16%,var(--jp-layout-color1,#fff))!important}}"
        for author, look in LOOKS.items()
    )
    + "</style>"
)

CODE = "font-family:monospace;line-height:1.5;"
_NAMED = {"\n": "⏎\n", "\t": "⇥\t", "\r": "␍", "\x7f": "␡"}


def esc(text: object) -> str:
    """Text as HTML shows it; nothing in it is markup."""
    return html.escape(str(text), quote=True)


def visible(text: str, *, blanks: bool = True) -> str:
    """Text with a mark for each character that can't be seen or that turns its neighbours round.

    Without `blanks`, newlines and tabs stay as they are.

    >>> visible("a\\nb\\u202e")
    'a⏎\\nb⟨U+202E⟩'
    """
    named = _NAMED if blanks else {"\n": "\n", "\t": "\t"}
    return "".join(named.get(char) or _mark(char) for char in text)


def one_line(text: str, width: int) -> str:
    """Visible text on one line, at most `width` characters; says how many were left out."""
    line = visible(text).replace("\n", "").replace("\t", "")
    if len(line) <= width:
        return line
    tail = f"… +{len(line) - width + 12}"
    return line[: width - 12] + tail


def _mark(char: str) -> str:
    if ord(char) < 32:
        return chr(0x2400 + ord(char))
    if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return f"⟨U+{ord(char):04X}⟩"
    return char


def found_in(text: str, find: str) -> list[tuple[int, int]]:
    """Where a text stands in another, in whatever case: `(start, end)`, none overlapping.

    >>> found_in("Tokyo, tokyo", "TOKYO")
    [(0, 5), (7, 12)]
    """
    if not find:
        return []
    return [hit.span() for hit in re.finditer(re.escape(visible(find)), text, re.IGNORECASE)]


def marked(text: str, find: str) -> str:
    """Text as HTML, with `find` marked in it."""
    parts, at = [], 0
    for start, end in found_in(text, find):
        parts += [esc(text[at:start]), f"<mark>{esc(text[start:end])}</mark>"]
        at = end
    return "".join([*parts, esc(text[at:])])


def chip(text: str, *, found: bool = False) -> str:
    """A special token, set apart from text that merely looks like it."""
    style = "border:1px solid #767676;border-radius:4px;padding:0 3px;font-size:90%;"
    colors = "background:#eeeeee;color:#111111;"
    return f'<b class="tcl-chip" style="{style}{colors}">{marked(text, text if found else "")}</b>'


SPEAKERS = {  # kind of model: sign, what it means
    "live": ("▶", ""),
    "recorded": ("⏺", ": a real model's words, replayed"),
    "scripted": ("✎", ": typed by hand, not a model's words"),
}


def badge_text(name: str, kind: str) -> str:
    """Who spoke, in words: the model's name and its kind."""
    return f"{visible(name)}, {visible(kind)}{SPEAKERS.get(kind, ('', ''))[1]}"


def badge_html(name: str, kind: str) -> str:
    """Who spoke, as a badge with the kind's sign."""
    sign = SPEAKERS.get(kind, ("?", ""))[0]
    return f'<div style="font-size:90%;">{chip(sign)} {esc(badge_text(name, kind))}</div>'


def static() -> bool:
    """Whether views must do without widgets: `TOOLCALL_LAB_STATIC=1`, or no notebook kernel."""
    if os.environ.get("TOOLCALL_LAB_STATIC") == "1":
        return True
    try:
        from IPython import get_ipython
    except ImportError:
        return True
    return getattr(get_ipython(), "kernel", None) is None


class View:
    """What all views have in common: a text, HTML, and with a kernel perhaps controls around it."""

    def to_text(self) -> str:
        """The view as plain text."""
        raise NotImplementedError

    def to_html(self) -> str:
        """The view as HTML that needs no kernel."""
        raise NotImplementedError

    def controls(self) -> Any:
        """A new ipywidgets box with the view in it; None if there's nothing to control."""
        return None

    def widget(self) -> Any:
        """The view with its controls, as an ipywidgets box, kept for `close`."""
        box = self.controls()
        if box is not None:
            vars(self).setdefault("_boxes", []).append(box)
        return box

    def close(self) -> None:
        """Frees the controls in the browser and here."""
        for box in vars(self).pop("_boxes", []):
            close_tree(box)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(self.to_text(), self.to_html(), None if static() else self.widget())


def number_field(name: str, value: float, least: float, most: float, step: float = 1) -> Any:
    """A field for a number, with arrow keys. Not a slider: ipywidgets gives the handle of one no
    accessible name (jupyter-widgets/ipywidgets#2650)."""
    import ipywidgets as w

    kind = w.BoundedIntText if isinstance(step, int) else w.BoundedFloatText
    field = kind(value=value, min=least, max=most, step=step, description=name)
    field.style.description_width = "initial"
    field.layout.width = f"{len(name) / 2 + 7:g}em"
    return field


def bundle(text: str, markup: str, widget: Any = None) -> dict[str, Any]:
    """What a notebook keeps of a view: text, HTML, and the widget's id if there is one."""
    shown = {"text/plain": text, "text/html": markup}
    if widget is not None:
        shown |= {k: v for k, v in widget._repr_mimebundle_().items() if k not in shown}
    return shown


def close_tree(widget: Any) -> None:
    """Closes a widget with all it is made of; ipywidgets leaves layouts and styles open."""
    for child in getattr(widget, "children", ()):
        close_tree(child)
    for part in (getattr(widget, "layout", None), getattr(widget, "style", None), widget):
        if part is not None:
            part.close()
