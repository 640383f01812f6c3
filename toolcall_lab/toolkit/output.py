"""`format_output(title, points, style)`: a text in Markdown, laid out by code."""

from typing import Annotated, Literal

from ..tools import Tool, tool

Title = Annotated[str, "The heading"]
Points = Annotated[
    list[str], "What to lay out, one text each; of a table: its cells, with | between"
]
Style = Literal["list", "numbered", "table", "paragraphs"]


def output() -> Tool:
    """The tool `format_output`.

    >>> print(output()("Tides", ["the moon pulls", "the earth turns"], "numbered"))
    # Tides
    <BLANKLINE>
    1. the moon pulls
    2. the earth turns
    >>> print(output()("Trains", ["from | to", "Lyon | Paris"], "table"))
    # Trains
    <BLANKLINE>
    | from | to |
    | --- | --- |
    | Lyon | Paris |
    """

    @tool
    def format_output(title: Title, points: Points, style: Style = "list") -> str:
        """Lays a text out in Markdown: a heading, and below it a list, a table or paragraphs."""
        if not points:
            raise ValueError("there are no points to lay out")
        texts = [" ".join(point.split()) for point in points]
        if style == "table":
            texts = _table(texts)
        elif style == "numbered":
            texts = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
        elif style == "list":
            texts = [f"- {text}" for text in texts]
        body = ("\n\n" if style == "paragraphs" else "\n").join(texts)
        return f"# {' '.join(title.split())}\n\n{body}"

    return format_output


def _table(rows: list[str]) -> list[str]:
    inner = [row.removeprefix("|").removesuffix("|") for row in rows if row.strip(" |-:")]
    cells = [[cell.strip() for cell in row.split("|")] for row in inner]
    width = max(map(len, cells))
    head, *rest = ([*row, *[""] * (width - len(row))] for row in cells)
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * width, *rest)]
