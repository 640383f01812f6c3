"""The exercise of lesson 4: read a call in the course's format out of an answer."""

from __future__ import annotations

import json
from typing import Any

from .task import Case, Task, Text, Wrong


def parse_tool_call(text: str) -> dict[str, Any] | None:
    """Finds the first call in an answer: its name and arguments, or None if there is no call.

    >>> parse_tool_call('Sure! {"tool_call": {"name": "get_time", "arguments": {}}}')
    {'name': 'get_time', 'arguments': {}}
    >>> parse_tool_call('{"tool_call": {"name": "get_ti')
    """
    decoder = json.JSONDecoder()
    end = 0
    for start, character in enumerate(text):
        if character != "{" or start < end:
            continue  # nothing begins here, or it's inside a value that was read
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError:
            continue  # a brace in the prose, or of broken JSON
        match value:
            case {"tool_call": {"name": str(name), "arguments": dict(arguments)}}:
                return {"name": name, "arguments": arguments}
    return None


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _written(call: dict[str, Any]) -> str:
    return json.dumps({"tool_call": call}, ensure_ascii=False)


TOKYO = _call("get_weather", {"city": "Tokyo"})
PARIS = _call("get_weather", {"city": "Paris"})
CODE = _call("write_file", {"path": "a.js", "text": 'if (a) { print("}"); // :-}'})
NESTED = _call(
    "add_event",
    {
        "event": {"title": "café ☕", "guests": ["Ana", {"name": "Bo", "arguments": []}]},
        "tool_call": {"name": "get_time", "arguments": {}},
        "hours": 1.5,
        "private": True,
        "room": None,
    },
)

TASK = Task(
    name="parse_tool_call",
    lesson=4,
    title=Text("Read the call", "Lire l'appel"),
    statement=Text(
        "Write `parse_tool_call(text)`, which reads a call out of a model's answer. A call is a "
        'JSON object with the key `"tool_call"`, and under it an object with a `"name"` (a text) '
        'and `"arguments"` (an object, which may be empty): `{"tool_call": {"name": …, '
        '"arguments": {…}}}`. It may stand anywhere in the text: alone, with prose around it '
        "(which may hold braces, too), in a Markdown fence. If it stands inside another JSON "
        "object, it doesn't count. Return the inner dictionary, with `name` and `arguments`, of "
        "the first call; `None` if there is no call. What is broken or cut is no call: repair "
        "nothing.",
        "Écris `parse_tool_call(text)`, qui lit un appel dans la réponse d'un modèle. Un appel est "
        'un objet JSON avec la clé `"tool_call"`, et sous celle-ci un objet avec `"name"` (un '
        'texte) et `"arguments"` (un objet, qui peut être vide) : `{"tool_call": {"name": …, '
        '"arguments": {…}}}`. Il peut se trouver n\'importe où dans le texte : seul, avec de la '
        "prose autour (où il peut aussi y avoir des accolades), dans un bloc de code Markdown. "
        "S'il se trouve à l'intérieur d'un autre objet JSON, il ne compte pas. Renvoie le "
        "dictionnaire intérieur, avec `name` et `arguments`, du premier appel ; `None` s'il n'y a "
        "pas d'appel. Ce qui est cassé ou coupé n'est pas un appel : ne répare rien.",
    ),
    stub="def parse_tool_call(text):\n    pass",
    cases=(
        Case(
            Text("a call alone", "un appel seul"),
            {"text": _written(TOKYO)},
            TOKYO,
            Text(
                "That's what the model was asked for.",
                "C'est ce qu'on a demandé au modèle.",
            ),
        ),
        Case(
            Text("a sentence and a code fence", "une phrase et un bloc de code"),
            {"text": f"Sure, I'll look!\n```json\n{_written(TOKYO)}\n```\nOne moment."},
            TOKYO,
            Text(
                "Models like to say what they are about to do, and they have seen a lot of "
                "Markdown.",
                "Les modèles aiment dire ce qu'ils vont faire, et ils ont vu beaucoup de Markdown.",
            ),
        ),
        Case(
            Text("braces in the prose", "des accolades dans la prose"),
            {
                "text": "No umbrella :-{ so I'll use {get_weather}: "
                + _written(TOKYO)
                + " (I hope {this} helps.)"
            },
            TOKYO,
            Text(
                "A brace is a sign like any other; it needn't begin or end a call.",
                "Une accolade est un signe comme un autre ; elle ne commence ni ne finit forcément "
                "un appel.",
            ),
        ),
        Case(
            Text("braces inside a string", "des accolades dans une chaîne"),
            {"text": f"Here is the file: {_written(CODE)}"},
            CODE,
            Text(
                "Models write code into arguments, and code is full of braces and quotes.",
                "Les modèles écrivent du code dans les arguments, et le code est plein "
                "d'accolades et de guillemets.",
            ),
        ),
        Case(
            Text("an answer without a call", "une réponse sans appel"),
            {"text": "42"},
            None,
            Text(
                "Not every answer is a call, and this one happens to be JSON. An exception here "
                "would end your loop.",
                "Toute réponse n'est pas un appel, et celle-ci se trouve être du JSON. Une "
                "exception ici arrêterait ta boucle.",
            ),
        ),
        Case(
            Text("a call that was cut", "un appel coupé"),
            {
                "text": '{"tool_call": {"name": "run_commands", "arguments": {"commands": '
                '["git add .", "git commit"'
            },
            None,
            Text(
                "Nobody knows what was to come. A list that was cut and closed again looks exactly "
                "like a shorter list.",
                "Personne ne sait ce qui devait suivre. Une liste coupée puis refermée ressemble "
                "exactement à une liste plus courte.",
            ),
        ),
        Case(
            Text("several calls", "plusieurs appels"),
            {"text": "\n".join(map(_written, [_call("get_time", {}), TOKYO, PARIS]))},
            _call("get_time", {}),
            Text(
                "The model may need the first result before the next call makes sense; and a "
                "call without arguments is a call.",
                "Le modèle a peut-être besoin du premier résultat avant que l'appel suivant ait un "
                "sens ; et un appel sans arguments est un appel.",
            ),
            hidden=True,
        ),
        Case(
            Text(
                "other JSON first, nested arguments",
                "d'abord un autre JSON, des arguments imbriqués",
            ),
            {"text": f'It is {{"temperature": 21}}, and 2" of rain. {{}}{_written(NESTED)}'},
            NESTED,
            Text(
                "Data isn't a call, and doesn't hide one that comes after it. Arguments can be "
                "any JSON.",
                "Des données ne sont pas un appel, et n'en cachent pas un qui vient après. Les "
                "arguments peuvent être n'importe quel JSON.",
            ),
            hidden=True,
        ),
        Case(
            Text("name or arguments are wrong", "un nom ou des arguments faux"),
            {
                "text": '{"tool_call": {"arguments": {"city": "Paris"}}}\n'
                '{"tool_call": {"name": "get_time"}}\n'
                '{"tool_call": {"name": 7, "arguments": {}}}\n'
                '{"tool_call": {"name": null, "arguments": {}}}\n'
                '{"tool_call": {"name": "get_weather", "arguments": "Paris"}}\n'
                '{"tool_call": {"name": "get_weather", "arguments": ["Paris"]}}\n'
                '{"tool_call": {"name": "get_weather", "arguments": null}}\n'
                '{"tool_call": {"name": "get_weather", "parameters": {"city": "Paris"}}}'
            },
            None,
            Text(
                "What your function returns is executed next: a name that is a text and arguments "
                "that are a dictionary must be certain by then.",
                "Ce que renvoie ta fonction est exécuté ensuite : un nom qui est un texte et des "
                "arguments qui sont un dictionnaire doivent alors être certains.",
            ),
            hidden=True,
        ),
        Case(
            Text('something else under "tool_call"', "autre chose sous « tool_call »"),
            {
                "text": '{"tool_call": "name, arguments"}\n{"tool_call": null}\n'
                '{"tool_call": ["name", "arguments"]}\n{"tool_call": 1}\n{"tool_call": {}}\n'
                '{"name": "get_weather", "arguments": {"city": "Paris"}}\n'
                '{"tool": {"name": "get_weather", "arguments": {"city": "Paris"}}}'
            },
            None,
            Text(
                "A wish without a call isn't a call, nor is one in another format, and neither may "
                "raise an exception.",
                "Un souhait sans appel n'est pas un appel, un autre format non plus, et aucun des "
                "deux ne doit lever d'exception.",
            ),
            hidden=True,
        ),
        Case(
            Text("a call inside other JSON", "un appel dans un autre JSON"),
            {
                "text": 'An answer looks like this: {"example": '
                + _written(TOKYO)
                + ', "more": [{"deeper": '
                + _written(TOKYO)
                + "}]}"
            },
            None,
            Text(
                "A call that is a part of other data is quoted, not made.",
                "Un appel qui fait partie d'autres données est cité, pas fait.",
            ),
            hidden=True,
        ),
        Case(
            Text("broken JSON", "du JSON cassé"),
            {
                "text": "{'tool_call': {'name': 'get_weather', 'arguments': {'city': 'Paris'}}}\n"
                '{"tool_call": {"name": "get_weather", "arguments": {"city": "Pa"ris"}}}\n'
                '{"tool_call": {"name": "get_weather", "arguments": {"city": "Paris"},}}\n'
                '{"tool_call": {"name": "get_weather", "arguments": {"city": "Paris"}}'
            },
            None,
            Text(
                "Quotes inside quotes have more than one reading. Whoever repairs, guesses; and "
                "the guess is executed.",
                "Des guillemets dans des guillemets se lisent de plusieurs façons. Qui répare "
                "devine ; et ce qui est deviné est exécuté.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "Don't look for where a call ends: that's the JSON decoder's work. You only need the "
            "places where one may begin.",
            "Ne cherche pas où finit un appel : c'est le travail du décodeur JSON. Il te faut "
            "seulement les endroits où un appel peut commencer.",
        ),
        Text(
            "`json.JSONDecoder().raw_decode(text, start)` reads one value at `start` and gives it "
            "and where it ended; if there is none, it raises. Try it at each brace, but not inside "
            "a value that you have read already.",
            "`json.JSONDecoder().raw_decode(text, start)` lit une valeur à partir de `start`, et "
            "la donne avec la position où elle finit ; s'il n'y en a pas, elle lève une exception. "
            "Essaie-la à chaque accolade, mais pas à l'intérieur d'une valeur que tu as déjà lue.",
        ),
        Text(
            "`for start, character in enumerate(text)`: go on if it's no `{`, or if `start` is in "
            "front of `end`, where the last value ended. Also if `raw_decode` raises a "
            "`json.JSONDecodeError`. Else look whether the value is a call (`isinstance` for "
            "`tool_call`, `name` and `arguments`), and return it if it is.",
            "`for start, character in enumerate(text)` : passe à la suite si ce n'est pas un `{`, "
            "ou si `start` est avant `end`, là où finit la dernière valeur. De même si "
            "`raw_decode` lève une `json.JSONDecodeError`. Sinon, regarde si la valeur est un "
            "appel (`isinstance` pour `tool_call`, `name` et `arguments`), et renvoie-le si c'en "
            "est un.",
        ),
    ),
    wrong=(
        Wrong(
            "the whole answer must be JSON",
            """
import json

def parse_tool_call(text):
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return None
    call = value.get("tool_call") if isinstance(value, dict) else None
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        if isinstance(call.get("arguments"), dict):
            return call
    return None
""",
            Text(
                "`json.loads` wants the whole text to be JSON. A sentence in front or a fence is "
                "enough for it to fail; `raw_decode` reads from where you say.",
                "`json.loads` veut que tout le texte soit du JSON. Une phrase devant ou un bloc "
                "de code suffit à la faire échouer ; `raw_decode` lit à partir d'où tu le dis.",
            ),
        ),
        Wrong(
            "the lesson's obvious reader",
            """
import json
import re

def parse_tool_call(text):
    try:
        data = json.loads(text)
        if "tool_call" in data:
            return data["tool_call"]
    except json.JSONDecodeError:
        pass
    match = re.search(r'\\{.*"tool_call".*\\}', text, re.DOTALL)
    if match:
        try:
            return json.loads(match.group())["tool_call"]
        except json.JSONDecodeError:
            pass
    return None
""",
            Text(
                "That's the obvious reader: its regex takes everything from the first brace to the "
                "last, and a number as an answer makes it raise. Decode from each brace instead.",
                "C'est le lecteur évident : sa regex prend tout, de la première accolade à la "
                "dernière, et une réponse qui est un nombre lui fait lever une exception. "
                "Décode plutôt à partir de chaque accolade.",
            ),
        ),
        Wrong(
            "from the first brace to the last",
            """
import json

def parse_tool_call(text):
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < 0:
        return None
    try:
        value = json.loads(text[start : end + 1])
    except json.JSONDecodeError:
        return None
    call = value.get("tool_call")
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        if isinstance(call.get("arguments"), dict):
            return call
    return None
""",
            Text(
                "Between the first brace and the last there may be prose, or a second call. Let "
                "`raw_decode` say where the JSON ends.",
                "Entre la première accolade et la dernière, il peut y avoir de la prose, ou un "
                "second appel. Laisse `raw_decode` dire où finit le JSON.",
            ),
        ),
        Wrong(
            "counts braces",
            """
import json

def parse_tool_call(text):
    for start, sign in enumerate(text):
        if sign != "{":
            continue
        depth = 0
        for end in range(start, len(text)):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            if depth == 0:
                break
        try:
            call = json.loads(text[start : end + 1]).get("tool_call")
        except json.JSONDecodeError:
            continue
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if isinstance(call.get("arguments"), dict):
                return call
    return None
""",
            Text(
                "You count braces, also those inside strings, where they mean nothing. "
                "`raw_decode` knows what is a string.",
                "Tu comptes les accolades, y compris celles des chaînes, où elles ne veulent rien "
                "dire. `raw_decode` sait ce qui est une chaîne.",
            ),
        ),
        Wrong(
            "doesn't look at name and arguments",
            """
import json

def parse_tool_call(text):
    end = 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            end = start + 1
            continue
        if "tool_call" in value:
            return value["tool_call"]
    return None
""",
            Text(
                'You return whatever stands under `"tool_call"`. It may be a text or null, or lack '
                "a name: check all three with `isinstance`.",
                'Tu renvoies tout ce qui se trouve sous `"tool_call"`. Ce peut être un texte ou '
                "null, ou quelque chose sans nom : vérifie les trois avec `isinstance`.",
            ),
        ),
        Wrong(
            "repairs a call that was cut",
            """
import json

def parse_tool_call(text):
    end = 0
    while (start := text.find("{", end)) >= 0:
        for ending in ("", "}", "}}", "}}}", "]}}}", '"]}}}', '"}}}'):
            try:
                value, end = json.JSONDecoder().raw_decode(text + ending, start)
                break
            except json.JSONDecodeError:
                end = start + 1
                value = {}
        call = value.get("tool_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if isinstance(call.get("arguments"), dict):
                return call
    return None
""",
            Text(
                "You add what is missing, and so make a call that nobody wrote. What is cut is no "
                "call: return None.",
                "Tu ajoutes ce qui manque, et fais ainsi un appel que personne n'a écrit. Ce qui "
                "est coupé n'est pas un appel : renvoie None.",
            ),
        ),
        Wrong(
            "finds calls inside other JSON",
            """
import json

def parse_tool_call(text):
    for start, sign in enumerate(text):
        if sign != "{":
            continue
        try:
            value, _ = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            continue
        call = value.get("tool_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if isinstance(call.get("arguments"), dict):
                return call
    return None
""",
            Text(
                "You look at each brace, also inside an object that you have just read. After a "
                "value that is no call, go on where it ended: `raw_decode` gives you the place.",
                "Tu regardes chaque accolade, même dans un objet que tu viens de lire. Après "
                "une valeur qui n'est pas un appel, continue là où elle finit : `raw_decode` te "
                "donne l'endroit.",
            ),
        ),
        Wrong(
            "returns the outer dictionary",
            """
import json

def parse_tool_call(text):
    end = 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            end = start + 1
            continue
        call = value.get("tool_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if isinstance(call.get("arguments"), dict):
                return value
    return None
""",
            Text(
                "You return the object around the call. Return what stands under its key "
                '`"tool_call"`: the dictionary with `name` and `arguments`.',
                "Tu renvoies l'objet qui entoure l'appel. Renvoie ce qui se trouve sous sa clé "
                '`"tool_call"` : le dictionnaire avec `name` et `arguments`.',
            ),
        ),
        Wrong(
            "takes the last call",
            """
import json

def parse_tool_call(text):
    found, end = None, 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            end = start + 1
            continue
        call = value.get("tool_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if isinstance(call.get("arguments"), dict):
                found = call
    return found
""",
            Text(
                "Of several calls you take the last. Return as soon as you have one.",
                "De plusieurs appels, tu prends le dernier. Renvoie dès que tu en as un.",
            ),
        ),
        Wrong(
            "empty arguments are taken for none",
            """
import json

def parse_tool_call(text):
    end = 0
    while (start := text.find("{", end)) >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except json.JSONDecodeError:
            end = start + 1
            continue
        call = value.get("tool_call")
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            if call.get("arguments") and isinstance(call["arguments"], dict):
                return call
    return None
""",
            Text(
                "`{}` counts as false, but a call without arguments is a call. Ask "
                "`isinstance(…, dict)`, and nothing else.",
                "`{}` vaut faux, mais un appel sans arguments est un appel. Demande "
                "`isinstance(…, dict)`, et rien d'autre.",
            ),
        ),
        Wrong(
            "gives up at the first brace",
            """
import json

def parse_tool_call(text):
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError:
        return None
    call = value.get("tool_call")
    if isinstance(call, dict) and isinstance(call.get("name"), str):
        if isinstance(call.get("arguments"), dict):
            return call
    return None
""",
            Text(
                "You try the first brace only. It may belong to the prose, or to other JSON: go on "
                "to the next.",
                "Tu n'essaies que la première accolade. Elle peut appartenir à la prose, ou à un "
                "autre JSON : continue à la suivante.",
            ),
        ),
    ),
    solution=parse_tool_call,
    explanation=Text(
        "The decoder says where a value ends; a regex or a count of braces can only guess. "
        "Returning None is right, but it doesn't say why: `read_tool_calls` names the problem, so "
        "that the model can do better, and returns no call at all if anything in the answer is "
        "wrong. Also missing here are several calls, thinking between `<think>` tags, and a look "
        "at `finish_reason`.",
        "Le décodeur dit où finit une valeur ; une regex ou un compte d'accolades ne peut que "
        "deviner. Renvoyer None est juste, mais ne dit pas pourquoi : `read_tool_calls` nomme le "
        "problème, pour que le modèle puisse faire mieux, et ne renvoie aucun appel si quelque "
        "chose dans la réponse est faux. Il manque aussi ici les appels multiples, la réflexion "
        "entre balises `<think>`, et un regard sur `finish_reason`.",
    ),
)
