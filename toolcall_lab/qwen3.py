"""What is Qwen3's own in a prompt: its tool block, its tags for results, its empty thoughts.

From the chat template in its GGUF files. The text between two special tokens is one span, since
that's what a tokenizer cuts in one go: so the tokens are those of the template.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

CALL_OPEN, CALL_CLOSE = "<tool_call>", "</tool_call>"
RESPONSE_OPEN, RESPONSE_CLOSE = "<tool_response>", "</tool_response>"
THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
NO_THOUGHTS = f"{THINK_OPEN}\n\n{THINK_CLOSE}\n\n"

BEFORE = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
"""
AFTER = """
</tools>

For each function call, return a json object with function name and arguments within """
EXAMPLE = """
{"name": <function-name>, "arguments": <args-json-object>}
"""


def tool_block(text: str, tools: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """The content of a system turn with tools, as `(author, text)`."""
    schemas = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in tools)
    opening = f"{text}\n\n" if text else ""
    return [
        ("system", f"{opening}{BEFORE}{schemas}{AFTER}"),
        ("structure", f"{CALL_OPEN}{CALL_CLOSE}"),
        ("system", " XML tags:\n"),
        ("structure", CALL_OPEN),
        ("system", EXAMPLE),
        ("structure", CALL_CLOSE),
    ]
