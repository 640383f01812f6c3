"""The exercise of lesson 5: run one tool call in OpenAI's form.

The names are French: *exécuter* is to execute, *boîte à outils* a toolbox.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any


def executer_tool_call(
    tool_call: Mapping[str, Any], boite_a_outils: Mapping[str, Callable[..., Any]]
) -> dict[str, Any]:
    """Runs the call's function; gives its result as text, or an error if there is no such tool.

    The contract is short on purpose: arguments that are no JSON or don't fit raise, as does a
    function that fails. `Toolbox.execute` makes results of all that.

    >>> call = {"id": "call_1", "function": {"name": "add", "arguments": '{"a": 3, "b": 7}'}}
    >>> executer_tool_call(call, {"add": lambda a, b: a + b})
    {'tool_call_id': 'call_1', 'name': 'add', 'result': '10'}
    >>> executer_tool_call(call, {})
    {'tool_call_id': 'call_1', 'name': 'add', 'error': 'Unknown tool: add'}
    """
    name = tool_call["function"]["name"]
    answer = {"tool_call_id": tool_call["id"], "name": name}
    if name not in boite_a_outils:
        return answer | {"error": f"Unknown tool: {name}"}
    arguments = json.loads(tool_call["function"]["arguments"])
    return answer | {"result": str(boite_a_outils[name](**arguments))}
