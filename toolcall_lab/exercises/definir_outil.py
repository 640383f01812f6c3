"""The exercise of lesson 3: describe a tool by hand.

The names are French: *définir un outil* is to define a tool; *nom*, *paramètres* and *requis* are
its name, its parameters and those of them that are required.
"""

from __future__ import annotations

from typing import Any

from .task import Case, Raises, Task, Text, Wrong


def definir_outil(
    nom: str, description: str, parametres: dict[str, dict[str, Any]], requis: list[str]
) -> dict[str, Any]:
    """Describes a tool in OpenAI's form; `ValueError` names what can't be described.

    >>> definir_outil("get_time", "Gives the current time.", {}, [])["function"]["parameters"]
    {'type': 'object', 'properties': {}, 'required': []}
    >>> definir_outil("wait", "Waits.", {"until": {"type": "date"}}, ["until"])
    Traceback (most recent call last):
    ValueError: date
    """
    types = ("string", "integer", "number", "boolean", "array", "object")
    for parameter in parametres.values():
        if parameter["type"] not in types:
            raise ValueError(parameter["type"])
    for name in requis:
        if name not in parametres:
            raise ValueError(name)
    parameters = {"type": "object", "properties": parametres, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def _schema(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


def _arguments(
    name: str, description: str, properties: dict[str, Any], required: list[str]
) -> dict[str, Any]:
    return {
        "nom": name,
        "description": description,
        "parametres": properties,
        "requis": required,
    }


_Tool = tuple[str, str, dict[str, Any], list[str]]

CITY = {"type": "string", "description": "The city"}
WEATHER = ("get_weather", "Gets the current weather for a city.", {"city": CITY}, ["city"])
TIME: _Tool = ("get_time", "Gives the current time.", {}, [])
FORECAST = (
    "get_forecast",
    "Gets the weather of the coming days.",
    {"days": {"type": "integer", "description": "How many days, 3 unless said"}, "city": CITY},
    ["city"],
)
PYTHON_TYPE = (
    "get_weather",
    "Gets the current weather for a city.",
    {"city": {"type": "str", "description": "The city"}},
    ["city"],
)
NO_PARAMETER = (
    "get_weather",
    "Gets the current weather for a city.",
    {"city": CITY},
    ["city", "country"],
)
SIX_TYPES = (
    "book_trip",
    "Books a trip.",
    {
        "city": CITY,
        "nights": {"type": "integer", "description": "How many nights"},
        "price": {"type": "number", "description": "At most, in euros"},
        "breakfast": {"type": "boolean", "description": "Whether breakfast is wanted"},
        "guests": {"type": "array", "description": "The guests' names"},
        "address": {"type": "object", "description": "Where the bill goes"},
    },
    ["guests", "city"],
)
DETAILS = (
    "get_meteo",
    "Récupère la météo d'une ville.",
    {
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
        "cities": {"type": "array", "items": {"type": "string"}, "description": "Les villes"},
    },
    ["cities"],
)
ALL_OPTIONAL: _Tool = (
    "list_files",
    "Lists files.",
    {
        "folder": {"type": "string", "description": "Where to look"},
        "hidden": {"type": "boolean", "description": "Whether hidden ones are listed too"},
    },
    [],
)
OPTIONAL_DATE = (
    "remind_me",
    "Reminds of something.",
    {
        "what": {"type": "string", "description": "Of what"},
        "at": {"type": "date", "description": "When"},
    },
    ["what"],
)
FIRST_IS_UNKNOWN = (
    "get_forecast",
    "Gets the weather of the coming days.",
    {"days": {"type": "integer", "description": "How many days"}, "city": CITY},
    ["town", "city", "days"],
)

TASK = Task(
    name="definir_outil",
    lesson=3,
    title=Text("Describe a tool", "Décrire un outil"),
    statement=Text(
        "Write `definir_outil(nom, description, parametres, requis)` (define a tool: name, "
        "description, parameters, required). It returns the *tool schema* in OpenAI's form, as a "
        'dictionary: `"type"` is `"function"`, and under `"function"` are `"name"`, '
        '`"description"` and `"parameters"`. There, `"type"` is `"object"`, `"properties"` are '
        'the `parametres` as you get them (`{"city": {"type": "string", "description": "The '
        'city"}, …}`), and `"required"` is the list `requis`, even when it\'s empty. Raise '
        "`ValueError` if the `type` of a parameter is none of `string`, `integer`, `number`, "
        "`boolean`, `array`, `object`, or if `requis` has a name that no parameter has. The "
        "error's text is up to you.",
        "Écris `definir_outil(nom, description, parametres, requis)`. Elle renvoie le *schéma* de "
        'l\'outil au format d\'OpenAI, un dictionnaire : `"type"` vaut `"function"`, et sous '
        '`"function"` se trouvent `"name"`, `"description"` et `"parameters"`. Là, `"type"` vaut '
        '`"object"`, `"properties"` reprend `parametres` tel que tu le reçois (`{"city": {"type": '
        '"string", "description": "The city"}, …}`), et `"required"` est la liste `requis`, même '
        "quand elle est vide. Lève `ValueError` si le `type` d'un paramètre n'est ni `string`, ni "
        "`integer`, ni `number`, ni `boolean`, ni `array`, ni `object`, ou si `requis` contient "
        "un nom qu'aucun paramètre ne porte. Le texte de l'erreur est libre.",
    ),
    stub="def definir_outil(nom, description, parametres, requis):\n    pass",
    cases=(
        Case(
            Text("one parameter, required", "un paramètre, obligatoire"),
            _arguments(*WEATHER),
            _schema(*WEATHER),
            Text(
                "This dictionary is all that the model ever learns about your function.",
                "Ce dictionnaire est tout ce que le modèle saura de ta fonction.",
            ),
        ),
        Case(
            Text("no parameters", "aucun paramètre"),
            _arguments(*TIME),
            _schema(*TIME),
            Text(
                "A tool without parameters is called with {}; the schema has to say so.",
                "Un outil sans paramètre s'appelle avec {} ; le schéma doit le dire.",
            ),
        ),
        Case(
            Text("an optional parameter", "un paramètre facultatif"),
            _arguments(*FORECAST),
            _schema(*FORECAST),
            Text(
                "What is required but not known, a model makes up. So require only what you need.",
                "Ce qui est obligatoire et inconnu, un modèle l'invente. N'exige donc que ce qu'il "
                "te faut.",
            ),
        ),
        Case(
            Text("a type that JSON Schema doesn't have", "un type que JSON Schema n'a pas"),
            _arguments(*PYTHON_TYPE),
            Raises("ValueError"),
            Text(
                'Python\'s str is "string" in JSON Schema. An API refuses the other one, and at a '
                "worse moment.",
                "Le str de Python est « string » en JSON Schema. Une API refuse l'autre, et à un "
                "plus mauvais moment.",
            ),
        ),
        Case(
            Text("a required name without a parameter", "un nom obligatoire sans paramètre"),
            _arguments(*NO_PARAMETER),
            Raises("ValueError"),
            Text(
                "The model would have to fill in an argument about which it knows nothing.",
                "Le modèle devrait remplir un argument dont il ne sait rien.",
            ),
        ),
        Case(
            Text("all six types", "les six types"),
            _arguments(*SIX_TYPES),
            _schema(*SIX_TYPES),
            Text(
                'With an integer the model writes 2, with a string it may write "a couple".',
                "Avec un entier, le modèle écrit 2 ; avec un texte, il peut écrire « quelques ».",
            ),
            hidden=True,
        ),
        Case(
            Text("parameters that say more", "des paramètres qui en disent plus"),
            _arguments(*DETAILS),
            _schema(*DETAILS),
            Text(
                "Choices and bounds are what saves the model from guessing.",
                "Les choix et les bornes sont ce qui évite au modèle de deviner.",
            ),
            hidden=True,
        ),
        Case(
            Text("all parameters optional", "tous les paramètres facultatifs"),
            _arguments(*ALL_OPTIONAL),
            _schema(*ALL_OPTIONAL),
            Text(
                "An empty list says that nothing is required. That's not the same as all.",
                "Une liste vide dit que rien n'est obligatoire. Ce n'est pas la même chose que "
                "tout.",
            ),
            hidden=True,
        ),
        Case(
            Text("another unknown type", "un autre type inconnu"),
            _arguments(*OPTIONAL_DATE),
            Raises("ValueError"),
            Text(
                "An optional parameter is part of the schema like any other.",
                "Un paramètre facultatif fait partie du schéma comme les autres.",
            ),
            hidden=True,
        ),
        Case(
            Text("another name without a parameter", "un autre nom obligatoire sans paramètre"),
            _arguments(*FIRST_IS_UNKNOWN),
            Raises("ValueError"),
            Text(
                "One wrong name among right ones makes every call of the tool impossible.",
                "Un seul nom faux parmi les bons rend tout appel de l'outil impossible.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "Look at `get_weather` in lesson 3. Which parts are always the same, and which come "
            "from your four arguments?",
            "Regarde `get_weather` dans la leçon 3. Quelles parties sont toujours les mêmes, et "
            "lesquelles viennent de tes quatre arguments ?",
        ),
        Text(
            "First two loops that raise: one over `parametres.values()` for the types, one over "
            "`requis` for the names. Then put the dictionary together from the inside out.",
            "D'abord deux boucles qui lèvent l'erreur : une sur `parametres.values()` pour les "
            "types, une sur `requis` pour les noms. Puis assemble le dictionnaire de l'intérieur "
            "vers l'extérieur.",
        ),
        Text(
            'The inside is `{"type": "object", "properties": parametres, "required": requis}`. It '
            'goes under `"parameters"`, next to `"name"` and `"description"`, and these three '
            'under `"function"`.',
            'L\'intérieur est `{"type": "object", "properties": parametres, "required": requis}`. '
            'Il va sous `"parameters"`, à côté de `"name"` et `"description"`, et ces trois-là '
            'sous `"function"`.',
        ),
    ),
    wrong=(
        Wrong(
            "no function inside",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": parametres, "required": requis}
    return {
        "type": "function", "name": nom, "description": description, "parameters": parameters
    }
""",
            Text(
                "Name, description and parameters stand directly beside `type`. In this form "
                'they go one level further in, under `"function"`.',
                "Le nom, la description et les paramètres sont directement à côté de `type`. Dans "
                'ce format, ils vont un niveau plus bas, sous `"function"`.',
            ),
        ),
        Wrong(
            "the parameters without their object",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    function = {"name": nom, "description": description, "parameters": parametres}
    return {"type": "function", "function": function | {"required": requis}}
""",
            Text(
                '`"parameters"` is a JSON Schema of its own: an object with `"type": "object"`, '
                '`"properties"` and `"required"`. Your `parametres` are only its properties.',
                '`"parameters"` est lui-même un JSON Schema : un objet avec `"type": "object"`, '
                '`"properties"` et `"required"`. Tes `parametres` n\'en sont que les propriétés.',
            ),
        ),
        Wrong(
            "required left out when empty",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": parametres}
    if requis:
        parameters["required"] = requis
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                'When nothing is required, your schema has no `"required"`. Put it in always, as '
                "an empty list if need be.",
                "Quand rien n'est obligatoire, ton schéma n'a pas de `\"required\"`. Mets-le "
                "toujours, comme liste vide s'il le faut.",
            ),
        ),
        Wrong(
            "the types aren't checked",
            """
def definir_outil(nom, description, parametres, requis):
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": parametres, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                "Your function takes any `type`. Compare each parameter's with the six, and raise "
                "`ValueError` if it's none of them.",
                "Ta fonction accepte n'importe quel `type`. Compare celui de chaque paramètre aux "
                "six, et lève `ValueError` s'il n'en fait pas partie.",
            ),
        ),
        Wrong(
            "only required parameters are checked",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    for name in requis:
        if name not in parametres or parametres[name]["type"] not in TYPES:
            raise ValueError(name)
    parameters = {"type": "object", "properties": parametres, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                "You check the types of required parameters only. Optional ones need it too: go "
                "over `parametres.values()`.",
                "Tu ne vérifies que le type des paramètres obligatoires. Les facultatifs en ont "
                "besoin aussi : parcours `parametres.values()`.",
            ),
        ),
        Wrong(
            "the required names aren't checked",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    parameters = {"type": "object", "properties": parametres, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                "A name in `requis` that no parameter has goes through. Ask of each one whether "
                "it's in `parametres`, and raise `ValueError` if not.",
                "Un nom de `requis` qu'aucun paramètre ne porte passe quand même. Demande pour "
                "chacun s'il est dans `parametres`, et lève `ValueError` sinon.",
            ),
        ),
        Wrong(
            "every parameter is required",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": parametres, "required": list(parametres)}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                "Your schema requires every parameter. Which ones are required is in `requis`; "
                "the others are optional.",
                "Ton schéma exige tous les paramètres. Ceux qui sont obligatoires sont dans "
                "`requis` ; les autres sont facultatifs.",
            ),
        ),
        Wrong(
            "only type and description are kept",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    properties = {}
    for name, parametre in parametres.items():
        if parametre["type"] not in TYPES:
            raise ValueError(name)
        properties[name] = {
            "type": parametre["type"], "description": parametre.get("description", "")
        }
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": properties, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                "You build each parameter anew from its type and description, and what else it "
                "says (`enum`, `minimum`, `items`…) is lost. Take `parametres` as they are.",
                "Tu reconstruis chaque paramètre avec son type et sa description, et ce qu'il dit "
                "d'autre (`enum`, `minimum`, `items`…) se perd. Prends `parametres` tel quel.",
            ),
        ),
        Wrong(
            "required inside of the parameters",
            """
TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    for name in requis:
        parametres[name]["required"] = True
    parameters = {"type": "object", "properties": parametres}
    function = {"name": nom, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
""",
            Text(
                'You write `"required": True` into the parameters, and so you change what you '
                'were given. In JSON Schema `"required"` is a list, beside `"properties"`.',
                'Tu écris `"required": True` dans les paramètres, et tu modifies ainsi ce qu\'on '
                't\'a donné. En JSON Schema, `"required"` est une liste, à côté de `"properties"`.',
            ),
        ),
        Wrong(
            "a text in place of a dictionary",
            """
import json

TYPES = ("string", "integer", "number", "boolean", "array", "object")

def definir_outil(nom, description, parametres, requis):
    if any(parametre["type"] not in TYPES for parametre in parametres.values()):
        raise ValueError("unknown type")
    if any(name not in parametres for name in requis):
        raise ValueError("unknown name")
    parameters = {"type": "object", "properties": parametres, "required": requis}
    function = {"name": nom, "description": description, "parameters": parameters}
    return json.dumps({"type": "function", "function": function})
""",
            Text(
                "You return the schema as JSON text. Return the dictionary; `json.dumps` comes "
                "later, when the prompt is put together.",
                "Tu renvoies le schéma en texte JSON. Renvoie le dictionnaire ; `json.dumps` vient "
                "plus tard, quand on assemble le prompt.",
            ),
        ),
    ),
    solution=definir_outil,
    explanation=Text(
        "The schema is all that the model knows about your function, and a mistake in it shows "
        "best where it's made, not in the middle of a conversation. `@tool` makes the same "
        "dictionary from a function's name, types and docstring, so that the two can't drift "
        "apart, and refuses a type that it can't translate. What nobody checks for you is whether "
        "the descriptions are true and clear.",
        "Le schéma est tout ce que le modèle sait de ta fonction, et mieux vaut qu'une erreur s'y "
        "voie là où elle est faite qu'au milieu d'une conversation. `@tool` tire le même "
        "dictionnaire du nom, des types et de la docstring d'une fonction, si bien qu'ils ne "
        "peuvent pas diverger, et refuse un type qu'il ne sait pas traduire. Ce que personne ne "
        "vérifie pour toi, c'est que les descriptions soient vraies et claires.",
    ),
)
