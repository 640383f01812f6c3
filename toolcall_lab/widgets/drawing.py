"""`Drawing`: a matplotlib figure in the course's style, with words for who can't see it.

The figure isn't pyplot's: nothing is registered anywhere, and nothing has to be closed.
"""

from __future__ import annotations

import base64
import io
import threading
from typing import TYPE_CHECKING, Any

from .html import View, bundle, esc, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI, SHARPER = 100, 2  # a picture has twice the points that it takes on the screen
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")  # Okabe and Ito's
_lock = threading.RLock()  # matplotlib's settings and its text layout are everybody's
STYLE: Any = {
    "figure.facecolor": "white",  # readable in a dark theme too
    "axes.prop_cycle": f"cycler('color', {list(COLORS)})",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "font.size": 9,
}


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, **axes: Any
) -> tuple[Figure, Any]:
    """A figure in the course's style, sizes in inches, and its axes, as `plt.subplots` gives them.

    `axes` are further arguments of `Figure.subplots`.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with _lock, matplotlib.rc_context(STYLE):
        figure = Figure((width, height), layout="constrained")
        return figure, figure.subplots(rows, columns, **axes)


class Drawing(View):
    """Shows a figure. `alt` says in a sentence or two what there is to see in it."""

    def __init__(self, figure: Figure, alt: str) -> None:
        self.figure, self.alt = figure, visible(alt)

    def to_text(self) -> str:
        """The words."""
        return f"[figure: {self.alt}]"

    def to_png(self) -> bytes:
        """The picture."""
        picture = io.BytesIO()
        with _lock:
            self.figure.savefig(picture, format="png", dpi=DPI * SHARPER)
        return picture.getvalue()

    def to_html(self) -> str:
        """The picture, as wide as it was drawn, with its words."""
        data = base64.b64encode(self.to_png()).decode()
        width = round(self.figure.get_figwidth() * DPI)
        return (
            f'<img src="data:image/png;base64,{data}" alt="{esc(self.alt)}" width="{width}" '
            'style="max-width:100%;">'
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return bundle(self.to_text(), self.to_html())
