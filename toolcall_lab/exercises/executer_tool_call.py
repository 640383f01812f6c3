"""The exercise of lesson 5: run one tool call in OpenAI's form.

The names are French: *exécuter* is to execute, *boîte à outils* a toolbox.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .task import Case, Code, Expect, Outcome, Task, Text, Wrong


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


def _call(name: str, arguments: str, id: str = "call_1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _answer(name: str, result: str, id: str = "call_1") -> dict[str, Any]:
    return {"tool_call_id": id, "name": name, "result": result}


def _is_error(name: str, id: str) -> Callable[[Outcome], bool]:
    def check(outcome: Outcome) -> bool:
        value = outcome.value
        return (
            isinstance(value, dict)
            and set(value) == {"tool_call_id", "name", "error"}
            and (value["tool_call_id"], value["name"]) == (id, name)
            and isinstance(value["error"], str)
            and name in value["error"]
            and not outcome.log
        )

    return check


SEARCH = Code('def search(query):\n    log("search", query)\n    return f"Results for {query}"')
ADD = Code('def add(a, b):\n    log("add", a, b)\n    return a + b')
DIVIDE = Code("def divide(number, by):\n    return number / by")
ECHO = Code("def echo(msg):\n    return msg")
NOTHING = Code("def wipe():\n    return None")
NO_MAIL = Code("def unread():\n    return 0")
IS_OPEN = Code("def is_open():\n    return False")
EMPTY = Code('def last_line():\n    return ""')
FLIGHT = Code(
    "def book(city, nights, breakfast, guests):\n    return [city, nights, breakfast, len(guests)]"
)

_ERROR = Expect(
    Text(
        'a dict with "tool_call_id", "name" and "error" (a text with the tool\'s name), '
        'without "result"',
        "un dict avec « tool_call_id », « name » et « error » (un texte avec le nom de l'outil), "
        "sans « result »",
    ),
    _is_error("no_such_tool", "call_3"),
)
_FALSY = Text(
    "a result that counts as false is a result",
    "un résultat qui vaut faux est un résultat",
)
_WHY_FALSY = Text(
    "0 unread emails is an answer. If it's lost, the model asks again, or makes one up.",
    "0 courriel non lu est une réponse. Si elle se perd, le modèle redemande, ou invente.",
)

TASK = Task(
    name="executer_tool_call",
    lesson=5,
    title=Text("Execute a tool call", "Exécuter un appel d'outil"),
    statement=Text(
        "Write `executer_tool_call(tool_call, boite_a_outils)`. `tool_call` is a call in OpenAI's "
        'form: its `"id"`, and under `"function"` the `"name"` and the `"arguments"`, which are a '
        "*JSON string*. `boite_a_outils` (toolbox) is a dictionary from names to functions. Call "
        "the function with the arguments by name, and return a dictionary with `tool_call_id`, "
        "`name` and `result`, the result made a text by `str`. If there is no tool of this "
        "name, return `error`, a text that names it, in place of `result`.",
        "Écris `executer_tool_call(tool_call, boite_a_outils)`. `tool_call` est un appel au format "
        'd\'OpenAI : son `"id"`, et sous `"function"` le nom (`"name"`) et les arguments '
        '(`"arguments"`), qui sont une *chaîne JSON*. `boite_a_outils` est un dictionnaire qui va '
        "des noms aux fonctions. Appelle la fonction avec les arguments par leur nom, et renvoie "
        "un dictionnaire avec `tool_call_id`, `name` et `result`, le résultat mis en texte par "
        "`str`. S'il n'y a pas d'outil de ce nom, renvoie `error`, un texte qui le nomme, à la "
        "place de `result`.",
    ),
    stub="def executer_tool_call(tool_call, boite_a_outils):\n    pass",
    cases=(
        Case(
            Text("a call is run", "un appel est exécuté"),
            {
                "tool_call": _call("search", '{"query": "Python"}'),
                "boite_a_outils": {"search": SEARCH},
            },
            _answer("search", "Results for Python"),
            Text(
                "The model reads the result; without it, it would have to guess.",
                "Le modèle lit le résultat ; sans lui, il devrait deviner.",
            ),
        ),
        Case(
            Text("a tool with several arguments", "un outil à plusieurs arguments"),
            {
                "tool_call": _call("add", '{"a": 3, "b": 7}', "call_2"),
                "boite_a_outils": {"search": SEARCH, "add": ADD},
            },
            _answer("add", "10", "call_2"),
            Text(
                'A prompt is text: the result 10 goes back as "10".',
                "Un prompt est du texte : le résultat 10 repart comme « 10 ».",
            ),
        ),
        Case(
            Text("an unknown tool gives an error", "un outil inconnu donne une erreur"),
            {
                "tool_call": _call("no_such_tool", "{}", "call_3"),
                "boite_a_outils": {"search": SEARCH},
            },
            _ERROR,
            Text(
                "Models invent tools. An error that names it lets the model choose another one; "
                "an exception ends the agent.",
                "Les modèles inventent des outils. Une erreur qui le nomme lui permet d'en choisir "
                "un autre ; une exception arrête l'agent.",
            ),
        ),
        Case(
            Text("the id comes back", "l'identifiant revient"),
            {
                "tool_call": _call("echo", '{"msg": "test"}', "call_xyz_789"),
                "boite_a_outils": {"echo": ECHO},
            },
            _answer("echo", "test", "call_xyz_789"),
            Text(
                "With several calls in a turn, the id tells the model which result is whose.",
                "Avec plusieurs appels par tour, l'identifiant dit au modèle à quel appel répond "
                "chaque résultat.",
            ),
        ),
        Case(
            Text("arguments in another order", "des arguments dans un autre ordre"),
            {
                "tool_call": _call("divide", '{"by": 4, "number": 100}'),
                "boite_a_outils": {"divide": DIVIDE},
            },
            _answer("divide", "25.0"),
            Text(
                "A JSON object has no order: arguments belong to their names.",
                "Un objet JSON n'a pas d'ordre : les arguments vont avec leurs noms.",
            ),
        ),
        Case(
            Text("values of several types", "des valeurs de plusieurs types"),
            {
                "tool_call": _call(
                    "book",
                    '{"city": "Rome", "nights": 2, "breakfast": true, "guests": ["Ana", "Bo"]}',
                ),
                "boite_a_outils": {"book": FLIGHT},
            },
            _answer("book", "['Rome', 2, True, 2]"),
            Text(
                "A tool that expects a number breaks on the text of one.",
                "Un outil qui attend un nombre casse sur le texte d'un nombre.",
            ),
            hidden=True,
        ),
        Case(
            _FALSY,
            {"tool_call": _call("unread", "{}"), "boite_a_outils": {"unread": NO_MAIL}},
            _answer("unread", "0"),
            _WHY_FALSY,
            hidden=True,
        ),
        Case(
            _FALSY,
            {"tool_call": _call("last_line", "{}"), "boite_a_outils": {"last_line": EMPTY}},
            _answer("last_line", ""),
            _WHY_FALSY,
            hidden=True,
        ),
        Case(
            _FALSY,
            {"tool_call": _call("wipe", "{}"), "boite_a_outils": {"wipe": NOTHING}},
            _answer("wipe", "None"),
            _WHY_FALSY,
            hidden=True,
        ),
        Case(
            _FALSY,
            {"tool_call": _call("is_open", "{}"), "boite_a_outils": {"is_open": IS_OPEN}},
            _answer("is_open", "False"),
            _WHY_FALSY,
            hidden=True,
        ),
        Case(
            Text("accents and other alphabets", "accents et autres alphabets"),
            {
                "tool_call": _call("echo", '{"msg": "caf\\u00e9 ☕ 東京"}', "réf-1"),
                "boite_a_outils": {"echo": ECHO},
            },
            _answer("echo", "café ☕ 東京", "réf-1"),
            Text(
                "What a user wrote must come out of the tool as it went in.",
                "Ce qu'a écrit l'utilisateur doit ressortir de l'outil intact.",
            ),
            hidden=True,
        ),
        Case(
            Text("an empty toolbox", "une boîte à outils vide"),
            {"tool_call": _call("no_such_tool", "{}", "call_3"), "boite_a_outils": {}},
            _ERROR,
            Text(
                "Also without any tool, the model is told so, and the agent goes on.",
                "Même sans aucun outil, on le dit au modèle, et l'agent continue.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            'The name is at `tool_call["function"]["name"]`. Look it up before anything else.',
            'Le nom est dans `tool_call["function"]["name"]`. Cherche-le dans la boîte avant tout '
            "le reste.",
        ),
        Text(
            "`json.loads` makes a dictionary of the arguments' text, and `function(**arguments)` "
            "passes its entries by name.",
            "`json.loads` fait un dictionnaire du texte des arguments, et `function(**arguments)` "
            "en passe les entrées par leur nom.",
        ),
        Text(
            'Begin with `answer = {"tool_call_id": …, "name": …}`. Then add either '
            '`"error": f"Unknown tool: {name}"` or `"result": str(…)`.',
            'Commence par `answer = {"tool_call_id": …, "name": …}`. Puis ajoute soit '
            '`"error": f"Unknown tool: {name}"`, soit `"result": str(…)`.',
        ),
    ),
    wrong=(
        Wrong(
            "arguments left as text",
            """
def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "error": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**tool_call["function"]["arguments"])
    return {"tool_call_id": tool_call["id"], "name": name, "result": str(result)}
""",
            Text(
                "The arguments are a JSON *string*. `json.loads` makes a dictionary of it, which "
                "`**` can then pass on.",
                "Les arguments sont une *chaîne* JSON. `json.loads` en fait un dictionnaire, que "
                "`**` peut ensuite passer.",
            ),
        ),
        Wrong(
            "the result isn't a text",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "error": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    return {"tool_call_id": tool_call["id"], "name": name, "result": result}
""",
            Text(
                "The tool returned a number, and so do you. The prompt is text: wrap it in "
                "`str(…)`.",
                "L'outil a renvoyé un nombre, et toi aussi. Le prompt est du texte : passe-le à "
                "`str(…)`.",
            ),
        ),
        Wrong(
            "the result as JSON",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "error": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    if not isinstance(result, str):
        result = json.dumps(result)
    return {"tool_call_id": tool_call["id"], "name": name, "result": result}
""",
            Text(
                "You write what isn't a text as JSON. The contract here is simpler: `str(result)`.",
                "Tu écris en JSON ce qui n'est pas un texte. Le contrat ici est plus simple : "
                "`str(result)`.",
            ),
        ),
        Wrong(
            "raises on an unknown tool",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    return {"tool_call_id": tool_call["id"], "name": name, "result": str(result)}
""",
            Text(
                "For a tool that doesn't exist your function raises. Ask `if name not in "
                "boite_a_outils` first, and return the error as a dictionary.",
                "Pour un outil qui n'existe pas, ta fonction lève une exception. Demande d'abord "
                "`if name not in boite_a_outils`, et renvoie l'erreur dans un dictionnaire.",
            ),
        ),
        Wrong(
            "the id is lost",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": "call_1", "name": name, "error": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    return {"tool_call_id": "call_1", "name": name, "result": str(result)}
""",
            Text(
                '`tool_call_id` must be this call\'s own id, `tool_call["id"]`.',
                '`tool_call_id` doit être l\'identifiant de cet appel, `tool_call["id"]`.',
            ),
        ),
        Wrong(
            "arguments by position",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "error": f"Unknown tool: {name}"}
    arguments = json.loads(tool_call["function"]["arguments"])
    result = boite_a_outils[name](*arguments.values())
    return {"tool_call_id": tool_call["id"], "name": name, "result": str(result)}
""",
            Text(
                "You pass the values in the order in which they came. Pass them by name: "
                "`function(**arguments)`.",
                "Tu passes les valeurs dans l'ordre où elles arrivent. Passe-les par leur nom : "
                "`function(**arguments)`.",
            ),
        ),
        Wrong(
            "a falsy result is taken for none",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "error": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    if not result:
        return {"tool_call_id": tool_call["id"], "name": name, "error": "no result"}
    return {"tool_call_id": tool_call["id"], "name": name, "result": str(result)}
""",
            Text(
                "0, False, None and an empty text are results too: don't ask `if result`.",
                "0, False, None et un texte vide sont aussi des résultats : ne demande pas "
                "`if result`.",
            ),
        ),
        Wrong(
            "the error is called result",
            """
import json

def executer_tool_call(tool_call, boite_a_outils):
    name = tool_call["function"]["name"]
    if name not in boite_a_outils:
        return {"tool_call_id": tool_call["id"], "name": name, "result": f"Unknown tool: {name}"}
    result = boite_a_outils[name](**json.loads(tool_call["function"]["arguments"]))
    return {"tool_call_id": tool_call["id"], "name": name, "result": str(result)}
""",
            Text(
                "An unknown tool has no result: return the text under the key `error`.",
                "Un outil inconnu n'a pas de résultat : renvoie le texte sous la clé `error`.",
            ),
        ),
    ),
    solution=executer_tool_call,
    explanation=Text(
        "The name comes first: it's looked up, never evaluated, so that a model can call what is "
        "in the box and nothing else. What this contract leaves open is what breaks agents: "
        "arguments that are no JSON, that don't fit, a tool that raises. `Toolbox.execute` makes "
        "results of them all.",
        "Le nom d'abord : il est cherché, jamais évalué, si bien qu'un modèle peut appeler ce qui "
        "est dans la boîte, et rien d'autre. Ce que ce contrat laisse ouvert est ce qui casse les "
        "agents : des arguments qui ne sont pas du JSON, qui ne conviennent pas, un outil qui lève "
        "une exception. `Toolbox.execute` en fait des résultats.",
    ),
)
