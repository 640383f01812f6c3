"""The exercise of lesson 9: from tool schemas to the JSON Schema of their calls."""

from __future__ import annotations

import json
from typing import Any

from .task import Case, Expect, Outcome, Task, Text, Wrong


def tool_call_schema(tools: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON Schema that accepts the calls of these tools, in the course's form, and no more.

    >>> tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
    >>> call = tool_call_schema([tool])["properties"]["tool_call"]["anyOf"][0]
    >>> call["properties"]["name"]
    {'const': 'now'}
    >>> call["properties"]["arguments"]
    {'additionalProperties': False, 'type': 'object'}
    """

    def exactly(properties: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    calls: list[Any] = []
    for tool in tools:
        function = tool["function"]
        arguments = {"additionalProperties": False} | function["parameters"]
        calls.append(exactly({"name": {"const": function["name"]}, "arguments": arguments}))
    return exactly({"tool_call": {"anyOf": calls or [False]}})  # False accepts nothing


MAX_REFS, MAX_SIZE = 40, 20_000  # of a learner's schema, in characters


def _tool(
    name: str, properties: dict[str, Any], required: list[str], **more: Any
) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required} | more
    function = {"name": name, "description": f"{name}.", "parameters": parameters}
    return {"type": "function", "function": function}


def _call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool_call": {"name": name, "arguments": arguments}}


def _schema_that(accepts: list[Any], refuses: list[Any]) -> Expect:
    """A schema that accepts and refuses these values; the text shows them all."""

    def check(outcome: Outcome) -> bool:
        from jsonschema import Draft202012Validator
        from referencing import Registry

        schema = outcome.value
        text = json.dumps(schema, default=str)
        if not isinstance(schema, dict) or text.count("ref") > MAX_REFS or len(text) > MAX_SIZE:
            return False  # references to references can take for ever
        try:
            Draft202012Validator.check_schema(schema)
            validator = Draft202012Validator(schema, registry=Registry())  # fetches nothing
            return all(validator.is_valid(value) for value in accepts) and not any(
                validator.is_valid(value) for value in refuses
            )
        except Exception:  # an invalid schema, a reference that leads nowhere or round in circles
            return False

    yes, no = _lines(accepts), _lines(refuses)
    text = Text(
        f"a schema that accepts{yes}\nand refuses{no}", f"un schéma qui accepte{yes}\net refuse{no}"
    )
    return Expect(text, check)


def _lines(values: list[Any]) -> str:
    return "".join(f"\n  {json.dumps(value, ensure_ascii=False)}" for value in values)


CITY = {"type": "string"}
WEATHER = _tool("get_weather", {"city": CITY}, ["city"])
TIME = _tool("get_time", {}, [])
ADD = _tool("add", {"a": {"type": "number"}, "b": {"type": "number"}}, ["a", "b"])
FORECAST = _tool("get_forecast", {"city": CITY, "days": {"type": "integer"}}, ["city"])
CLOSED = _tool("get_weather", {"city": CITY}, ["city"], additionalProperties=False)
PRECISE = _tool(
    "book_room",
    {
        "size": {"enum": ["single", "double"]},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "guests": {"type": "array", "items": {"type": "string"}},
    },
    ["size", "nights", "guests"],
)
ROME = _call("get_weather", city="Rome")
NOW = _call("get_time")
BOOKED = _call("book_room", size="double", nights=2, guests=["Ana", "Bo"])

# What most of the wrong solutions get right.
_PARTS = """
def exactly(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

def closed(tool):
    return {"additionalProperties": False} | tool["function"]["parameters"]
"""

TASK = Task(
    name="tool_call_schema",
    lesson=9,
    title=Text("The schema of a call", "Le schéma d'un appel"),
    statement=Text(
        "Write `tool_call_schema(tools)`. `tools` are tool schemas in OpenAI's form, as in lesson "
        "3. Return a JSON Schema (a dictionary, draft 2020-12) that accepts the calls of these "
        'tools and nothing else. A call has the course\'s form: `{"tool_call": {"name": …, '
        '"arguments": {…}}}`, with all three keys and no others beside them. The name is that of '
        "a tool, and the arguments are those of *this* tool: they meet its `parameters`, and "
        "there's none that isn't among its `properties`, whether its schema says so itself "
        '(`"additionalProperties": false`) or says nothing about it. If `tools` is empty, the '
        "schema accepts nothing at all.",
        "Écris `tool_call_schema(tools)`. `tools` sont des schémas d'outils au format d'OpenAI, "
        "comme dans la leçon 3. Renvoie un JSON Schema (un dictionnaire, draft 2020-12) qui "
        "accepte les appels de ces outils et rien d'autre. Un appel a la forme du cours : "
        '`{"tool_call": {"name": …, "arguments": {…}}}`, avec ces trois clés et aucune autre à '
        "côté. Le nom est celui d'un outil, et les arguments sont ceux de *cet* outil : ils "
        "respectent ses `parameters`, et il n'y en a aucun qui ne soit pas dans ses `properties`, "
        "que son schéma le dise lui-même (`\"additionalProperties\": false`) ou qu'il n'en dise "
        "rien. Si `tools` est vide, le schéma n'accepte rien du tout.",
    ),
    stub="def tool_call_schema(tools):\n    pass",
    cases=(
        Case(
            Text("the tool's name, and no other", "le nom de l'outil, et aucun autre"),
            {"tools": [WEATHER]},
            _schema_that(
                [ROME],
                [_call("weather", city="Rome"), _call("get_weather_2", city="Rome")],
            ),
            Text(
                "A model that may write any name writes any name: you saw it on the first rung.",
                "Un modèle qui peut écrire n'importe quel nom l'écrit : c'était le premier "
                "barreau de l'échelle.",
            ),
        ),
        Case(
            Text("missing or of a wrong type", "manquant, ou du mauvais type"),
            {"tools": [ADD]},
            _schema_that(
                [_call("add", a=3, b=0.5)],
                [_call("add", a=3), _call("add"), _call("add", a=3, b="7")],
            ),
            Text(
                "These calls look fine and fail in the function.",
                "Ces appels ont l'air corrects et échouent dans la fonction.",
            ),
        ),
        Case(
            Text("an argument too many", "un argument de trop"),
            {"tools": [WEATHER]},
            _schema_that(
                [ROME, _call("get_weather", city="")],
                [_call("get_weather", city="Rome", country="Italy")],
            ),
            Text(
                "JSON Schema lets further properties through unless it's told not to.",
                "JSON Schema laisse passer d'autres propriétés si on ne le lui interdit pas.",
            ),
        ),
        Case(
            Text("the name goes with its own arguments", "à chaque nom ses propres arguments"),
            {"tools": [WEATHER, ADD]},
            _schema_that(
                [ROME, _call("add", a=1, b=2)],
                [_call("get_weather", a=1, b=2), _call("add", city="Rome")],
            ),
            Text(
                "Each half is fine by itself; together they are no call.",
                "Chaque moitié est correcte ; ensemble, elles ne font pas un appel.",
            ),
        ),
        Case(
            Text("a tool without parameters", "un outil sans paramètre"),
            {"tools": [TIME]},
            _schema_that([NOW], [{"tool_call": {"name": "get_time"}}, {}]),
            Text(
                "Nothing to fill in, and still a call: with empty arguments, not without any.",
                "Rien à remplir, et pourtant un appel : avec des arguments vides, pas sans.",
            ),
        ),
        Case(
            Text("nothing beside the call", "rien à côté de l'appel"),
            {"tools": [WEATHER]},
            _schema_that(
                [ROME],
                [ROME | {"thought": "sunny?"}, {"tool_call": ROME["tool_call"] | {"id": "call_1"}}],
            ),
            Text(
                "Wherever something else may be written, a model begins to chat.",
                "Partout où autre chose est permis, un modèle se met à bavarder.",
            ),
        ),
        Case(
            Text("optional parameters", "des paramètres facultatifs"),
            {"tools": [FORECAST, TIME]},
            _schema_that(
                [
                    _call("get_forecast", city="Rome"),
                    _call("get_forecast", city="Rome", days=3),
                    NOW,
                ],
                [_call("get_forecast", days=3), _call("get_forecast", city="Rome", days="3")],
            ),
            Text(
                "What has to be written but isn't known gets made up.",
                "Ce qu'il faut écrire sans le savoir, le modèle l'invente.",
            ),
            hidden=True,
        ),
        Case(
            Text("a tool whose schema is closed already", "un outil dont le schéma est déjà fermé"),
            {"tools": [CLOSED, TIME]},
            _schema_that(
                [ROME, NOW],
                [_call("get_weather", city="Rome", country="Italy"), _call("get_time", city="x")],
            ),
            Text(
                "Schemas come from many hands; yours has to work with each of them.",
                "Les schémas viennent de partout ; le tien doit marcher avec chacun.",
            ),
            hidden=True,
        ),
        Case(
            Text("parameters that say more than a type", "des paramètres plus précis qu'un type"),
            {"tools": [TIME, PRECISE]},
            _schema_that(
                [BOOKED, _call("book_room", size="single", nights=30, guests=[]), NOW],
                [
                    _call("book_room", size="triple", nights=2, guests=[]),
                    _call("book_room", size="single", nights=31, guests=[]),
                    _call("book_room", size="single", nights=2, guests=[7]),
                ],
            ),
            Text(
                "Choices and bounds hold only if they are handed on.",
                "Les choix et les bornes ne valent que si on les transmet.",
            ),
            hidden=True,
        ),
        Case(
            Text("what isn't even an object", "ce qui n'est même pas un objet"),
            {"tools": [WEATHER, TIME]},
            _schema_that(
                [ROME, NOW],
                [
                    None,
                    "get_time",
                    [ROME],
                    {"tool_call": "get_time"},
                    {"tool_call": {"name": "get_weather", "arguments": '{"city": "Rome"}'}},
                    {"tool_call": {"name": "get_time", "arguments": None}},
                ],
            ),
            Text(
                "properties says nothing about a text or a list: it only looks at objects.",
                "properties ne dit rien d'un texte ni d'une liste : il ne regarde que les objets.",
            ),
            hidden=True,
        ),
        Case(
            Text("no tools", "aucun outil"),
            {"tools": []},
            _schema_that([], [NOW, {"tool_call": {}}, {"tool_call": None}, {}, None, "", []]),
            Text(
                "Without tools there's no call. A constraint that allows any is worse than none.",
                "Sans outil, pas d'appel. Une contrainte qui permet tout est pire que rien.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "Write the schema for the calls of one tool first. `const` fixes a value. Then "
            "one such schema per tool: which keyword says that one of several must fit?",
            "Écris d'abord le schéma des appels d'un seul outil. `const` fixe une valeur. Puis "
            "un tel schéma par outil : quel mot-clé dit que l'un d'eux doit convenir ?",
        ),
        Text(
            'An object with exactly some keys takes four things: `"type": "object"`, '
            '`"properties"`, all the keys in `"required"`, and `"additionalProperties": False`. '
            "You need it twice, outside and around the name and the arguments.",
            'Un objet qui a exactement certaines clés demande quatre choses : `"type": '
            '"object"`, `"properties"`, toutes les clés dans `"required"`, et '
            "`\"additionalProperties\": False`. Il t'en faut deux, à l'extérieur et autour du nom "
            "et des arguments.",
        ),
        Text(
            'For each tool: `"name": {"const": name}` and `"arguments": {"additionalProperties": '
            'False} | function["parameters"]` (a new dictionary). All of them under `"anyOf"`, and '
            "`[False]` if there are none: an empty `anyOf` isn't allowed.",
            'Pour chaque outil : `"name": {"const": name}` et `"arguments": '
            '{"additionalProperties": False} | function["parameters"]` (un nouveau dictionnaire). '
            "Tous sous `\"anyOf\"`, et `[False]` s'il n'y en a pas : un `anyOf` vide n'est pas "
            "permis.",
        ),
    ),
    wrong=(
        Wrong(
            "any name",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = [
        exactly({"name": {"type": "string"}, "arguments": closed(tool)}) for tool in tools
    ]
    return exactly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                'Your schema takes any text for a name. `{"const": name}` takes this one only.',
                'Ton schéma prend n\'importe quel texte pour nom. `{"const": name}` ne prend que '
                "celui-là.",
            ),
        ),
        Wrong(
            "any name goes with any arguments",
            _PARTS
            + """
def tool_call_schema(tools):
    names = [tool["function"]["name"] for tool in tools]
    if not names:
        return {"not": {}}
    arguments = {"anyOf": [closed(tool) for tool in tools]}
    return exactly({"tool_call": exactly({"name": {"enum": names}, "arguments": arguments})})
""",
            Text(
                "Names and arguments are chosen apart, so one tool's name goes with another's "
                "arguments. Put both into one schema per tool, and `anyOf` around these.",
                "Noms et arguments sont choisis séparément : le nom d'un outil va avec les "
                "arguments d'un autre. Mets les deux dans un schéma par outil, et `anyOf` autour.",
            ),
        ),
        Wrong(
            "further arguments are let through",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = [
        exactly({
            "name": {"const": tool["function"]["name"]},
            "arguments": tool["function"]["parameters"],
        })
        for tool in tools
    ]
    return exactly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "Arguments that the tool doesn't have are accepted. Close its parameters: "
                '`{"additionalProperties": False} | parameters`.',
                "Des arguments que l'outil n'a pas sont acceptés. Ferme ses paramètres : "
                '`{"additionalProperties": False} | parameters`.',
            ),
        ),
        Wrong(
            "something beside the call is let through",
            _PARTS
            + """
def keys(properties):
    return {"type": "object", "properties": properties, "required": list(properties)}

def tool_call_schema(tools):
    calls = [
        keys({"name": {"const": tool["function"]["name"]}, "arguments": closed(tool)})
        for tool in tools
    ]
    return keys({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "The arguments are closed, but not the objects around them: further keys beside "
                '`tool_call` or `name` are accepted. They need `"additionalProperties": False` '
                "too.",
                "Les arguments sont fermés, mais pas les objets autour : d'autres clés à côté de "
                "`tool_call` ou de `name` sont acceptées. Il leur faut aussi "
                '`"additionalProperties": False`.',
            ),
        ),
        Wrong(
            "nothing is required",
            _PARTS
            + """
def possibly(properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}

def tool_call_schema(tools):
    calls = [
        possibly({"name": {"const": tool["function"]["name"]}, "arguments": closed(tool)})
        for tool in tools
    ]
    return possibly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "`properties` says what a key's value must be, not that the key must be there: "
                "`{}` is accepted. List the keys in `required`, on both levels.",
                "`properties` dit ce que doit être la valeur d'une clé, pas que la clé doit être "
                "là : `{}` est accepté. Liste les clés dans `required`, aux deux niveaux.",
            ),
        ),
        Wrong(
            "every parameter is required",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = [
        exactly({
            "name": {"const": tool["function"]["name"]},
            "arguments": closed(tool) | {
                "required": list(tool["function"]["parameters"]["properties"])
            },
        })
        for tool in tools
    ]
    return exactly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "Your schema refuses calls that leave out an optional parameter. Keep the tool's "
                "own `required`.",
                "Ton schéma refuse les appels qui omettent un paramètre facultatif. Garde le "
                "`required` de l'outil.",
            ),
        ),
        Wrong(
            "only the types are kept",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = []
    for tool in tools:
        parameters = tool["function"]["parameters"]
        types = {
            name: {"type": part["type"]} if "type" in part else {}
            for name, part in parameters["properties"].items()
        }
        calls.append(exactly({
            "name": {"const": tool["function"]["name"]},
            "arguments": exactly(types) | {"required": parameters["required"]},
        }))
    return exactly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "You build the parameters anew from their types, and choices, bounds and lists' "
                "items are lost. Put the tool's `parameters` in as a whole.",
                "Tu reconstruis les paramètres avec leurs types, et les choix, les bornes et les "
                "éléments des listes se perdent. Mets les `parameters` de l'outil en entier.",
            ),
        ),
        Wrong(
            "what isn't an object is let through",
            """
def exactly(properties):
    return {
        "properties": properties, "required": list(properties), "additionalProperties": False
    }

def tool_call_schema(tools):
    calls = [
        exactly({
            "name": {"const": tool["function"]["name"]},
            "arguments": {"additionalProperties": False} | tool["function"]["parameters"],
        })
        for tool in tools
    ]
    return exactly({"tool_call": {"anyOf": calls}}) if calls else {"not": {}}
""",
            Text(
                'Without `"type": "object"` a text or a list passes: `properties` and `required` '
                "only look at objects. Say it on both levels.",
                'Sans `"type": "object"`, un texte ou une liste passe : `properties` et `required` '
                "ne regardent que les objets. Dis-le aux deux niveaux.",
            ),
        ),
        Wrong(
            "the tools are changed",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = []
    for tool in tools:
        function = tool["function"]
        function["parameters"]["additionalProperties"] = False
        arguments = function["parameters"]
        calls.append(exactly({"name": {"const": function["name"]}, "arguments": arguments}))
    return exactly({"tool_call": {"anyOf": calls or [False]}})
""",
            Text(
                "You write `additionalProperties` into the tools that you were given, and the "
                "prompt that is made of them changes. Make a new dictionary: "
                '`{"additionalProperties": False} | parameters`.',
                "Tu écris `additionalProperties` dans les outils qu'on t'a donnés, et le prompt "
                "qu'on en fait change. Fais un nouveau dictionnaire : "
                '`{"additionalProperties": False} | parameters`.',
            ),
        ),
        Wrong(
            "an empty anyOf",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = [
        exactly({"name": {"const": tool["function"]["name"]}, "arguments": closed(tool)})
        for tool in tools
    ]
    return exactly({"tool_call": {"anyOf": calls}})
""",
            Text(
                "Without tools your `anyOf` is empty, and that's no valid JSON Schema. The schema "
                'that accepts nothing is `False`, or `{"not": {}}`.',
                "Sans outil, ton `anyOf` est vide, et ce n'est pas un JSON Schema valide. Le "
                'schéma qui n\'accepte rien est `False`, ou `{"not": {}}`.',
            ),
        ),
        Wrong(
            "the call without its wrapping",
            _PARTS
            + """
def tool_call_schema(tools):
    calls = [
        exactly({"name": {"const": tool["function"]["name"]}, "arguments": closed(tool)})
        for tool in tools
    ]
    return {"anyOf": calls or [False]}
""",
            Text(
                "Your schema describes the name and the arguments, but in the course's form they "
                'stand inside of `{"tool_call": …}`. Put an object with this one key around them.',
                "Ton schéma décrit le nom et les arguments, mais dans la forme du cours ils sont "
                'dans `{"tool_call": …}`. Mets autour un objet avec cette seule clé.',
            ),
        ),
    ),
    solution=tool_call_schema,
    explanation=Text(
        "One schema per tool, and `anyOf` around them: that's how `grammar.tool_call(toolbox)` "
        "begins. Try `grammar.json_schema(tool_call_schema(toolbox.schemas()))` as a constraint. "
        "The package also gives texts and lists an end, so that a call closes in time, and "
        "resolves `$ref`s, which break when a schema moves into another one. Whether it's the "
        "right call, no schema says.",
        "Un schéma par outil, et `anyOf` autour : c'est ainsi que commence "
        "`grammar.tool_call(toolbox)`. Essaie "
        "`grammar.json_schema(tool_call_schema(toolbox.schemas()))` comme contrainte. Le paquet "
        "donne aussi une fin aux textes et aux listes, pour qu'un appel se ferme à temps, et "
        "résout les `$ref`, qui cassent quand un schéma passe dans un autre. Si c'est le bon "
        "appel, aucun schéma ne le dit.",
    ),
)
