"""The exercise of lesson 11: an agent with a memory, documents and tools, that names its sources.

The tests' model is a script. It notes of each prompt only what the contract fixes, so that mistakes
can be recognised whatever words the learner's system turn uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..chatml import IM_END, IM_START
from .task import Case, Code, Expect, Outcome, Task, Text, Wrong


def capstone(
    llm: Callable[..., Mapping[str, Any]],
    toolbox: Mapping[str, Callable[..., Any]],
    notes: Any,
    documents: Any,
    question: str,
) -> str:
    """Answers with the help of notes, documents and tools, and lists the documents that it names.

    >>> from types import SimpleNamespace
    >>> notes = SimpleNamespace(recall=lambda query: ["Ana likes short answers."])
    >>> hit = {"source": "hours", "text": "The museum opens at ten."}
    >>> documents = SimpleNamespace(search=lambda query: [hit])
    >>> def llm(prompt, **options):
    ...     return {"choices": [{"text": "At ten [hours]."}]}
    >>> print(capstone(llm, {}, notes, documents, "When does the museum open?"))
    At ten [hours].
    Sources: hours
    """

    def look_up(search: Callable[[str], list[Any]]) -> list[Any]:
        try:
            return search(question)
        except Exception:
            return []  # what can't be looked up now doesn't end the agent

    remembered, hits = look_up(notes.recall), look_up(documents.search)
    passages = [f"[{hit['source']}] {hit['text']}" for hit in hits]
    user = "\n".join([*passages, *remembered, question])
    prompt = (
        '<|im_start|>system\nTo use a tool, reply with {"tool_call": {"name": "<tool_name>", '
        '"arguments": {...}}}.\nWhen your answer uses a document, write its [source] behind it.\n'
        f"Available tools: {list(toolbox)}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    for _ in range(5):
        output = llm(prompt, max_tokens=512, stop=["<|im_end|>", "<|im_start|>"])
        text: str = output["choices"][0]["text"]
        try:
            call = json.loads(text)["tool_call"]
            name, arguments = call["name"], call["arguments"]
        except (ValueError, TypeError, KeyError):
            cited = [hit["source"] for hit in hits if f"[{hit['source']}]" in text]
            return f"{text}\nSources: {', '.join(dict.fromkeys(cited))}" if cited else text
        try:
            result = str(toolbox[name](**arguments))
        except Exception as error:
            result = repr(error)  # for an unknown tool, a KeyError with its name
        prompt += f"{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n<|im_start|>assistant\n"
    return "[Erreur] Agent bloqué, max steps atteint."


Hit = dict[str, str]  # a document's "source" and "text"

LIMIT = "[Erreur] Agent bloqué, max steps atteint."
TOOL, OPEN = f"{IM_END}\n{IM_START}tool\n", f"{IM_END}\n{IM_START}assistant\n"

MODEL = r"""
script = [
SCRIPT]
prompts = []

def llm(prompt, stop=None, **options):
    if not isinstance(prompt, str):
        raise TypeError(f"the prompt must be one text, not a {type(prompt).__name__}")
    log("llm", *[prompt[len(old):] if prompt.startswith(old) else None for old in prompts[-1:]])
    prompts.append(prompt)
    if len(prompts) > len(script):
        raise RuntimeError(f"inference {len(prompts)}: the script has only {len(script)} texts")
    text = script[len(prompts) - 1]
    for mark in [stop] if isinstance(stop, str) else stop or []:
        text = text.split(mark)[0]
    return {"choices": [{"text": text}]}
"""
WATCHING = r"""
    log("turns", [turn.split("\n")[0] for turn in prompt.split("<|im_end|>\n<|im_start|>")])
    log("markers", prompt.count("<|im_"), prompt.endswith("<|im_start|>assistant\n"))
    log("system", [text for text in IN_SYSTEM if text in prompt.split("<|im_end|>")[0]])
    log("user", [text for text in IN_USER if text in prompt.partition("<|im_end|>")[2]])
    log("lines", [text for text in LINES if text in prompt.replace("<|im_end|>", "\n").split("\n")])
    prompts.append(prompt)
"""
WELL_FORMED = [["turns", [f"{IM_START}system", "user", "assistant"]], ["markers", 5, True]]


def _lines(items: Iterable[Any], indent: str = "    ") -> str:
    return "".join(f"{indent}{item!r},\n" for item in items)


def _llm(*texts: str) -> Code:
    """A model that says these texts; it notes what was appended to its prompt before each."""
    script = _lines(texts)
    return Code(MODEL.replace("SCRIPT", script), words=f"llm = Script([\n{script}])")


def _passages(hits: Iterable[Hit]) -> list[str]:
    return [f"[{hit['source']}] {hit['text']}" for hit in hits]


def _watching(text: str, found: list[str], passages: list[str]) -> Code:
    """A model that says one text; it notes its prompt's turns and what stands in which."""
    parts = [part for passage in passages for part in passage.split(" ", 1)]
    noting = WATCHING.replace("IN_SYSTEM", repr([*TOOLS, *found, *parts]))
    noting = noting.replace("IN_USER", repr([QUESTION, *found])).replace("LINES", repr(passages))
    llm = _llm(text)
    source = llm.source.replace("\n    prompts.append(prompt)\n", noting)
    return Code(source, words=llm.words)


def _notes(*texts: str) -> Code:
    return Code(f"""
class Notes:
    def recall(self, query):
        log("recall", query)
        return {list(texts)}

notes = Notes()
""")


def _documents(*hits: Hit) -> Code:
    found = f"[\n{_lines(hits, ' ' * 12)}        ]" if hits else "[]"
    return Code(f"""
class Documents:
    def search(self, query):
        log("search", query)
        return {found}

documents = Documents()
""")


NO_NOTES = Code("""
class Notes:
    def recall(self, query):
        log("recall", query)
        raise OSError("the notes' file can't be read")

notes = Notes()
""")
NO_DOCUMENTS = Code("""
class Documents:
    def search(self, query):
        log("search", query)
        raise TimeoutError("the search takes too long")

documents = Documents()
""")

TOOLS = {
    "get_weather": Code("""
def get_weather(city):
    log("get_weather", city)
    if city == "Atlantis":
        raise ValueError(f"no weather station in {city}")
    return f"{city}: windy"
"""),
    "get_time": Code('def get_time():\n    log("get_time")\n    return "14:32:15"'),
}
VALUES = {
    "unread": Code('def unread():\n    log("unread")\n    return 0'),
    "last_line": Code('def last_line():\n    log("last_line")\n    return ""'),
    "wipe": Code('def wipe():\n    log("wipe")\n    return None'),
    "book": Code(
        'def book(city, nights):\n    log("book", city, nights)\n    return [city, nights + 1]'
    ),
}

QUESTION = "When does the lighthouse museum open?"
FOUND = ["Ana is coming by train.", "Bo préfère les réponses courtes."]
HITS = (
    {"source": "opening-hours", "text": "The lighthouse museum opens at ten."},
    {"source": "tickets", "text": "Un billet coûte 8 euros."},
)
ROUTE = "First [guide], then [map], says [guide]; see also [plans], [site plan] and [atlas]."
WEATHER = ("What is the weather at the museum?", "The museum is in Brest.")


def _call(name: str, **arguments: Any) -> str:
    return json.dumps({"tool_call": {"name": name, "arguments": arguments}})


BREST, ATLANTIS = _call("get_weather", city="Brest"), _call("get_weather", city="Atlantis")
BOAT = _call("rent_boat", hours=2)
CITIES = ("Brest", "Nantes", "Lille", "Nice", "Metz")


def _asked(answer: str, found: list[str], passages: list[str]) -> Callable[[Outcome], bool]:
    """Whether this answer came of one inference, with this in the prompt's turns."""
    looked_up = [["recall", QUESTION], ["search", QUESTION]]
    noted = [["system", list(TOOLS)], ["user", [QUESTION, *found]], ["lines", passages]]
    rest = [["llm"], *WELL_FORMED, *noted]

    def check(outcome: Outcome) -> bool:
        log = outcome.log
        in_order = log[:2] in (looked_up, looked_up[::-1])
        return _is(outcome, answer) and in_order and log[2:] == rest

    return check


def _looped(
    answer: str, turns: list[tuple[str, str | tuple[str, ...]]], calls: list[list[Any]]
) -> Callable[[Outcome], bool]:
    """Whether it asked once more than there are `turns`, each time with one more in the prompt.

    A turn is the model's text and the result: its exact text, or a tuple of what it must hold. At
    the limit, the last of the `calls` may be left out: nobody reads its result.
    """

    def check(outcome: Outcome) -> bool:
        asked = [values for name, *values in outcome.log if name == "llm"]
        made = [note for note in outcome.log if note[0] not in ("llm", "recall", "search")]
        return (
            _is(outcome, answer)
            and (made == calls or (answer == LIMIT and made == calls[:-1]))
            and len(asked) == len(turns) + 1
            and all(
                _is_turn(appended, text, result)
                for [appended], (text, result) in zip(asked[1:], turns, strict=True)
            )
        )

    return check


def _is(outcome: Outcome, answer: str) -> bool:
    return type(outcome.value) is str and outcome.value == answer


def _is_turn(appended: str | None, text: str, result: str | tuple[str, ...]) -> bool:
    if appended is None:
        return False
    begin = text + TOOL
    given = appended[len(begin) : -len(OPEN)]
    if appended != begin + given + OPEN or IM_START in given:
        return False
    return given == result if isinstance(result, str) else all(part in given for part in result)


def _arguments(
    llm: Code,
    tools: dict[str, Code],
    notes: Code,
    documents: Code,
    question: str = QUESTION,
) -> dict[str, Any]:
    return {
        "llm": llm,
        "toolbox": dict(tools),
        "notes": notes,
        "documents": documents,
        "question": question,
    }


_JSON = Text("an answer that is JSON", "une réponse qui est du JSON")
_WHY_JSON = Text(
    "Asked for a number or for JSON, a model answers with it. That's no call, and mustn't break "
    "the loop.",
    "Si on lui demande un nombre ou du JSON, un modèle répond ainsi. Ce n'est pas un appel, et la "
    "boucle ne doit pas casser.",
)

# What the known mistakes change.
LOOK_UP = """
    remembered, hits = [], []
    try:
        remembered = notes.recall(question)
    except Exception:
        pass
    try:
        hits = documents.search(question)
    except Exception:
        pass
"""
CITE = """
            cited = [hit["source"] for hit in hits if f"[{hit['source']}]" in text]
            cited = list(dict.fromkeys(cited))
"""
RUN = """
        try:
            result = str(toolbox[name](**arguments))
        except Exception as error:
            result = repr(error)
"""
LOOP = (
    """
import json

def capstone(llm, toolbox, notes, documents, question):"""
    + LOOK_UP
    + r"""
    passages = [f"[{hit['source']}] {hit['text']}" for hit in hits]
    system = f"Tools: {list(toolbox)}"
    user = "\n".join([*passages, *remembered, question])
    prompt = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n"
    prompt += "<|im_start|>assistant\n"
    for _ in range(5):
        output = llm(prompt, max_tokens=512, stop=["<|im_end|>", "<|im_start|>"])
        text = output["choices"][0]["text"]
        try:
            call = json.loads(text)["tool_call"]
            name, arguments = call["name"], call["arguments"]
        except (ValueError, TypeError, KeyError):"""
    + CITE
    + r"""
            return text + "\nSources: " + ", ".join(cited) if cited else text"""
    + RUN
    + r"""
        prompt += f"{text}<|im_end|>\n"
        prompt += f"<|im_start|>tool\n{result}<|im_end|>\n<|im_start|>assistant\n"
    return "[Erreur] Agent bloqué, max steps atteint."
"""
)

TASK = Task(
    name="capstone",
    lesson=11,
    title=Text("An agent with memory and sources", "Un agent avec mémoire et sources"),
    statement=Text(
        "Write `capstone(llm, toolbox, notes, documents, question)`: lesson 7's loop, with a "
        "memory and with sources. `toolbox` is a dictionary from names to functions.\n\n"
        "1. Look things up, once each: `notes.recall(question)` gives a list of texts, "
        '`documents.search(question)` a list of `{"source": …, "text": …}`. If one of them '
        "raises, go on as if it had found nothing.\n"
        "2. Begin the prompt with a system turn that names every tool, a user turn with the "
        "question, the notes' texts and each document as a line `[source] text`, and an open "
        "assistant turn: `<|im_start|>system\\n…<|im_end|>\\n<|im_start|>user\\n…<|im_end|>\\n"
        "<|im_start|>assistant\\n`. What was looked up comes from outside: nothing of it goes into "
        "the system turn.\n"
        '3. Ask, at most five times in all, with `llm(prompt, stop=["<|im_end|>", '
        '"<|im_start|>"])`; more options are up to you. The text is '
        '`output["choices"][0]["text"]`.\n'
        "4. The text is a call if the whole of it is JSON of the form "
        '`{"tool_call": {"name": …, "arguments": {…}}}`. Run it. The result is what the tool '
        "returns, made a text by `str`; if there is no such tool, a text that names it; if the "
        "tool raises, a text with the exception's class and message. Append to the prompt: the "
        "model's text, `<|im_end|>\\n<|im_start|>tool\\n`, the result, "
        "`<|im_end|>\\n<|im_start|>assistant\\n`. Then go back to 3.\n"
        "5. Every other text is the answer: return it. If it names documents that were found, as "
        "`[source]`, add a line to it: `\\nSources: a, b`, with the source of each of them once, "
        "in the order of the search.\n\n"
        "If the fifth text is a call too, return "
        '`"[Erreur] Agent bloqué, max steps atteint."`.',
        "Écris `capstone(llm, toolbox, notes, documents, question)` : la boucle de la leçon 7, "
        "avec une mémoire et des sources. `toolbox` est un dictionnaire qui va des noms aux "
        "fonctions.\n\n"
        "1. Fais chaque recherche une seule fois : `notes.recall(question)` donne une liste de "
        'textes, `documents.search(question)` une liste de `{"source": …, "text": …}`. Si '
        "l'un des deux lève une exception, continue comme s'il n'avait rien trouvé.\n"
        "2. Commence le prompt par un tour système qui nomme chaque outil, un tour utilisateur "
        "avec la question, les textes des notes et chaque document sur une ligne `[source] text`, "
        "et un tour assistant ouvert : `<|im_start|>system\\n…<|im_end|>\\n<|im_start|>user\\n…"
        "<|im_end|>\\n<|im_start|>assistant\\n`. Ce que tu as trouvé vient de l'extérieur : rien "
        "n'en va dans le tour système.\n"
        '3. Demande, cinq fois au plus en tout, avec `llm(prompt, stop=["<|im_end|>", '
        '"<|im_start|>"])` ; tu peux ajouter d\'autres options. Le texte est '
        '`output["choices"][0]["text"]`.\n'
        "4. Le texte est un appel s'il est, en entier, du JSON de la forme "
        '`{"tool_call": {"name": …, "arguments": {…}}}`. Exécute-le. Le résultat est ce que '
        "renvoie l'outil, mis en texte par `str` ; si cet outil n'existe pas, un texte qui le "
        "nomme ; si l'outil lève une exception, un texte avec la classe et le message de "
        "l'exception. Ajoute à la fin du prompt : le texte du modèle, "
        "`<|im_end|>\\n<|im_start|>tool\\n`, le résultat, "
        "`<|im_end|>\\n<|im_start|>assistant\\n`. Puis reviens à 3.\n"
        "5. Tout autre texte est la réponse : renvoie-la. Si elle nomme des documents trouvés, "
        "sous la forme `[source]`, ajoutes-y une ligne : `\\nSources: a, b`, avec la source de "
        "chacun d'eux une seule fois, dans l'ordre de la recherche.\n\n"
        "Si le cinquième texte est encore un appel, renvoie "
        '`"[Erreur] Agent bloqué, max steps atteint."`.',
    ),
    stub="def capstone(llm, toolbox, notes, documents, question):\n    pass",
    cases=(
        Case(
            Text("an answer with a source", "une réponse avec une source"),
            _arguments(
                _llm("It opens at ten [opening-hours]; tickets are sold there."),
                TOOLS,
                _notes(*FOUND),
                _documents(*HITS),
            ),
            "It opens at ten [opening-hours]; tickets are sold there.\nSources: opening-hours",
            Text(
                "Whoever reads the answer can look it up. A document that wasn't used is no "
                "source.",
                "Qui lit la réponse peut la vérifier. Un document qui n'a pas servi n'est pas une "
                "source.",
            ),
        ),
        Case(
            Text("what the first prompt holds", "ce que contient le premier prompt"),
            _arguments(
                _watching("It opens at ten.", FOUND, _passages(HITS)),
                TOOLS,
                _notes(*FOUND),
                _documents(*HITS),
            ),
            Expect(
                Text(
                    "after one recall and one search with the question, a system turn that names "
                    "get_weather and get_time and holds nothing that was found; a user turn with "
                    "the question, both notes and both documents as lines `[source] text`; an "
                    "open assistant turn; and the model's text, which names no source, as it is",
                    "après un recall et un search avec la question, un tour système qui nomme "
                    "get_weather et get_time et ne contient rien de ce qui a été trouvé ; un tour "
                    "utilisateur avec la question, les deux notes et les deux documents en "
                    "lignes `[source] text` ; un tour assistant ouvert ; et le texte du modèle, "
                    "qui ne nomme aucune source, tel quel",
                ),
                _asked("It opens at ten.", FOUND, _passages(HITS)),
            ),
            Text(
                "The model knows only what stands in the prompt. And the system turn is where "
                "your own rules are: a note that got in there would be one of them.",
                "Le modèle ne sait que ce qui est dans le prompt. Et le tour système contient tes "
                "propres règles : une note qui s'y trouve en deviendrait une.",
            ),
        ),
        Case(
            Text("a tool is called", "un outil est appelé"),
            _arguments(
                _llm(BREST, "It is windy in Brest."),
                TOOLS,
                _notes(WEATHER[1]),
                _documents(*HITS),
                WEATHER[0],
            ),
            Expect(
                Text(
                    "the second text, without a line of sources; the second prompt is the first, "
                    "then the call as it was written, its end, a tool turn with the result, and "
                    "an open assistant turn",
                    "le deuxième texte, sans ligne de sources ; le deuxième prompt est le premier, "
                    "puis l'appel tel qu'il est écrit, sa fin, un tour `tool` avec le résultat, et "
                    "un tour assistant ouvert",
                ),
                _looped(
                    "It is windy in Brest.", [(BREST, "Brest: windy")], [["get_weather", "Brest"]]
                ),
            ),
            Text(
                "The memory gives the city, the tool the weather: both are in the second prompt.",
                "La mémoire donne la ville, l'outil la météo : les deux sont dans le deuxième "
                "prompt.",
            ),
        ),
        Case(
            Text("tools that fail", "des outils qui échouent"),
            _arguments(
                _llm(BOAT, ATLANTIS, "I can't find out."),
                TOOLS,
                _notes(),
                _documents(),
                "Is it windy in Atlantis, and is there a boat?",
            ),
            Expect(
                Text(
                    "the third text; the first tool turn names rent_boat, the second says "
                    "ValueError and its message",
                    "le troisième texte ; le premier tour `tool` nomme rent_boat, le deuxième dit "
                    "ValueError et son message",
                ),
                _looped(
                    "I can't find out.",
                    [
                        (BOAT, ("rent_boat",)),
                        (ATLANTIS, ("ValueError", "no weather station in Atlantis")),
                    ],
                    [["get_weather", "Atlantis"]],
                ),
            ),
            Text(
                "An error is information for the model. An exception ends the agent.",
                "Une erreur est une information pour le modèle. Une exception arrête l'agent.",
            ),
        ),
        Case(
            Text("five calls and no answer", "cinq appels et pas de réponse"),
            _arguments(
                _llm(*(_call("get_weather", city=city) for city in CITIES), "It is windy."),
                TOOLS,
                _notes(),
                _documents(),
                "Is it windy in all cities?",
            ),
            Expect(
                Text(f"{LIMIT!r}, after five inferences", f"{LIMIT!r}, après cinq inférences"),
                _looped(
                    LIMIT,
                    [(_call("get_weather", city=city), f"{city}: windy") for city in CITIES[:4]],
                    [["get_weather", city] for city in CITIES],
                ),
            ),
            Text(
                "The model won't set the limit; you must.",
                "Ce n'est pas le modèle qui fixera la limite ; c'est à toi.",
            ),
        ),
        Case(
            Text("notes that can't be read", "des notes illisibles"),
            _arguments(
                _watching("It opens at ten [opening-hours].", [], _passages(HITS)),
                TOOLS,
                NO_NOTES,
                _documents(*HITS),
            ),
            Expect(
                Text(
                    "the text and `Sources: opening-hours`; the user turn has the question and "
                    "both documents",
                    "le texte et `Sources: opening-hours` ; le tour utilisateur contient la "
                    "question et les deux documents",
                ),
                _asked(
                    "It opens at ten [opening-hours].\nSources: opening-hours", [], _passages(HITS)
                ),
            ),
            Text(
                "The answer is in the documents. A memory that fails is no reason to fail.",
                "La réponse est dans les documents. Une mémoire en panne n'est pas une raison "
                "d'échouer.",
            ),
        ),
        Case(
            Text("documents that can't be searched", "une recherche de documents en panne"),
            _arguments(
                _watching("At ten, I believe [opening-hours].", FOUND, []),
                TOOLS,
                _notes(*FOUND),
                NO_DOCUMENTS,
            ),
            Expect(
                Text("the text as it is", "le texte tel quel"),
                _asked("At ten, I believe [opening-hours].", FOUND, []),
            ),
            Text(
                "Without documents there's still the memory; and a source that nobody found is an "
                "invented one.",
                "Sans documents, il reste la mémoire ; et une source que personne n'a trouvée est "
                "inventée.",
            ),
            hidden=True,
        ),
        Case(
            Text("several sources", "plusieurs sources"),
            _arguments(
                _llm(ROUTE),
                TOOLS,
                _notes("Bo has read [atlas]."),
                _documents(
                    {"source": "guide-2", "text": "How to get back."},
                    {"source": "plan", "text": "Where to sleep."},
                    {"source": "map", "text": "The roads."},
                    {"source": "guide", "text": "How to get there."},
                    {"source": "guide", "text": "What to take along."},
                ),
                "How do I get there?",
            ),
            f"{ROUTE}\nSources: map, guide",
            Text(
                "The list is yours, not the model's: only what was found and named, each once.",
                "La liste vient de toi, pas du modèle : seulement ce qui a été trouvé et nommé, "
                "une fois chacun.",
            ),
            hidden=True,
        ),
        Case(
            Text("four results, then an answer", "quatre résultats, puis une réponse"),
            _arguments(
                _llm(
                    _call("unread"),
                    _call("last_line"),
                    _call("wipe"),
                    _call("book", nights=2, city="Rome"),
                    "All done.",
                ),
                VALUES,
                _notes(),
                _documents(),
                "Look, clean up, and book.",
            ),
            Expect(
                Text("the fifth text", "le cinquième texte"),
                _looped(
                    "All done.",
                    [
                        (_call("unread"), "0"),
                        (_call("last_line"), ""),
                        (_call("wipe"), "None"),
                        (_call("book", nights=2, city="Rome"), "['Rome', 3]"),
                    ],
                    [["unread"], ["last_line"], ["wipe"], ["book", "Rome", 2]],
                ),
            ),
            Text(
                "0, an empty text and None are results too, and an answer in the fifth inference "
                "is an answer.",
                "0, un texte vide et None sont aussi des résultats, et une réponse à la cinquième "
                "inférence est une réponse.",
            ),
            hidden=True,
        ),
        Case(
            _JSON,
            _arguments(_llm("42"), TOOLS, _notes(), _documents(), "What is 6 times 7?"),
            "42",
            _WHY_JSON,
            hidden=True,
        ),
        Case(
            _JSON,
            _arguments(
                _llm('{"opens": "10:00", "by": "[tickets]"}'),
                TOOLS,
                _notes(*FOUND),
                _documents(*HITS),
            ),
            '{"opens": "10:00", "by": "[tickets]"}\nSources: tickets',
            _WHY_JSON,
            hidden=True,
        ),
        Case(
            Text("a model that writes on", "un modèle qui continue d'écrire"),
            _arguments(
                _llm(
                    f"{BREST}{TOOL}Brest: calm{OPEN}It is calm.",
                    f"It is windy.{IM_START}user\nThank you!",
                ),
                TOOLS,
                _notes(WEATHER[1]),
                _documents(),
                WEATHER[0],
            ),
            Expect(
                Text("the second text, up to its end", "le deuxième texte, jusqu'à sa fin"),
                _looped("It is windy.", [(BREST, "Brest: windy")], [["get_weather", "Brest"]]),
            ),
            Text(
                "Where nobody stops it, a model writes the result itself, and the user's next turn "
                "too.",
                "Si personne ne l'arrête, un modèle écrit lui-même le résultat, et aussi le "
                "prochain tour de l'utilisateur.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "It's lesson 7's loop with something before it and something after it. Begin with "
            "the two look-ups, each in its own `try`, with an empty list if it raises.",
            "C'est la boucle de la leçon 7, avec quelque chose avant et quelque chose après. "
            "Commence par les deux recherches, chacune dans son propre `try`, avec une liste vide "
            "si elle lève une exception.",
        ),
        Text(
            "Make the user turn of `[*passages, *remembered, question]`, joined by line breaks, "
            "with `f\"[{hit['source']}] {hit['text']}\"` for each document. In the loop, "
            '`json.loads(text)["tool_call"]` in a `try` tells a call from an answer.',
            "Fais le tour utilisateur avec `[*passages, *remembered, question]`, joints par des "
            "sauts de ligne, et `f\"[{hit['source']}] {hit['text']}\"` pour chaque document. Dans "
            'la boucle, `json.loads(text)["tool_call"]` dans un `try` distingue un appel d\'une '
            "réponse.",
        ),
        Text(
            'For the answer: `cited = [hit["source"] for hit in hits if f"[{hit[\'source\']}]" '
            'in text]`; if it has any, add `"\\nSources: " + ", ".join(dict.fromkeys(cited))`. '
            "For a call: `str(toolbox[name](**arguments))` in a `try`, with `repr(error)` as the "
            "result if it raises, then one tool turn more and round again.",
            'Pour la réponse : `cited = [hit["source"] for hit in hits if f"[{hit[\'source\']}]" '
            'in text]` ; si elle n\'est pas vide, ajoute `"\\nSources: " + ", ".join('
            "dict.fromkeys(cited))`. Pour un appel : `str(toolbox[name](**arguments))` dans un "
            "`try`, avec `repr(error)` pour résultat si l'outil lève une exception, puis un tour "
            "`tool` de plus et on recommence.",
        ),
    ),
    wrong=(
        Wrong(
            "the notes go into the system turn",
            LOOP.replace("{list(toolbox)}", "{list(toolbox)} {remembered}").replace(
                "*remembered, ", ""
            ),
            Text(
                "The notes stand in the system turn, among your own rules. They come from outside, "
                "like the documents: put them into the user turn.",
                "Les notes sont dans le tour système, parmi tes propres règles. Elles viennent de "
                "l'extérieur, comme les documents : mets-les dans le tour utilisateur.",
            ),
        ),
        Wrong(
            "the notes aren't used",
            LOOP.replace("*remembered, ", ""),
            Text(
                "You recall the notes, and the prompt lacks them: the model can't know them. "
                "Put their texts into the user turn.",
                "Tu cherches dans les notes, mais elles ne sont pas dans le prompt : le modèle ne "
                "peut pas les connaître. Mets leurs textes dans le tour utilisateur.",
            ),
        ),
        Wrong(
            "documents without their source",
            LOOP.replace("f\"[{hit['source']}] {hit['text']}\"", 'hit["text"]'),
            Text(
                "The documents' texts are in the prompt, but not their sources, so the model can't "
                "name them. Write each as a line `[source] text`.",
                "Les textes des documents sont dans le prompt, mais pas leurs sources : le modèle "
                "ne peut pas les nommer. Écris chacun sur une ligne `[source] text`.",
            ),
        ),
        Wrong(
            "a failing search ends it",
            LOOP.replace(
                LOOK_UP,
                "\n    remembered, hits = notes.recall(question), documents.search(question)\n",
            ),
            Text(
                "When the notes or the documents raise, so does your function. Call each in a "
                "`try`, and go on with an empty list.",
                "Quand les notes ou les documents lèvent une exception, ta fonction aussi. Appelle "
                "chacun dans un `try`, et continue avec une liste vide.",
            ),
        ),
        Wrong(
            "one failing search takes the other along",
            LOOP.replace(
                LOOK_UP,
                """
    remembered, hits = [], []
    try:
        remembered = notes.recall(question)
        hits = documents.search(question)
    except Exception:
        pass
""",
            ),
            Text(
                "Both look-ups are in one `try`: when the notes fail, the documents are never "
                "searched. Give each its own.",
                "Les deux recherches sont dans un seul `try` : quand les notes échouent, on ne "
                "cherche jamais dans les documents. Donne à chacune le sien.",
            ),
        ),
        Wrong(
            "everything found is a source",
            LOOP.replace(
                CITE, '\n            cited = list(dict.fromkeys(hit["source"] for hit in hits))\n'
            ),
            Text(
                "You list every document that was found. A source is one that the answer names: "
                "look for `[source]` in the text.",
                "Tu listes tous les documents trouvés. Une source est un document que la réponse "
                "nomme : cherche `[source]` dans le texte.",
            ),
        ),
        Wrong(
            "every bracket is a source",
            LOOP.replace("import json", "import json\nimport re").replace(
                CITE,
                '\n            cited = list(dict.fromkeys(re.findall(r"\\[(.+?)\\]", text)))\n',
            ),
            Text(
                "You take the sources from the answer's brackets, and so invented ones too, in the "
                "answer's order. Go through the documents that were found: which are named?",
                "Tu prends les sources dans les crochets de la réponse, donc aussi celles qui sont "
                "inventées, et dans l'ordre de la réponse. Parcours les documents trouvés, et "
                "regarde lesquels sont nommés.",
            ),
        ),
        Wrong(
            "a word is taken for a source",
            LOOP.replace("if f\"[{hit['source']}]\" in text", 'if hit["source"] in text'),
            Text(
                "You look for the source without its brackets, and any word can be one. The model "
                "names a document as `[source]`.",
                "Tu cherches la source sans ses crochets, et n'importe quel mot peut en être une. "
                "Le modèle nomme un document sous la forme `[source]`.",
            ),
        ),
        Wrong(
            "a source for each passage",
            LOOP.replace("            cited = list(dict.fromkeys(cited))\n", ""),
            Text(
                "Two passages of one document give its source twice. `dict.fromkeys(cited)` keeps "
                "each once, in order.",
                "Deux passages d'un même document donnent deux fois sa source. "
                "`dict.fromkeys(cited)` garde chacune une fois, dans l'ordre.",
            ),
        ),
        Wrong(
            "an unknown tool ends it",
            LOOP.replace(
                RUN,
                """
        function = toolbox[name]
        try:
            result = str(function(**arguments))
        except Exception as error:
            result = repr(error)
""",
            ),
            Text(
                "A tool that doesn't exist raises a `KeyError` in your function. Tell the model "
                "instead: a tool turn that names it.",
                "Un outil qui n'existe pas lève une `KeyError` dans ta fonction. Dis-le plutôt au "
                "modèle : un tour `tool` qui le nomme.",
            ),
        ),
        Wrong(
            "six inferences",
            LOOP.replace("range(5)", "range(6)"),
            Text(
                "You ask a sixth time. `for _ in range(5)` asks five times.",
                "Tu demandes une sixième fois. `for _ in range(5)` demande cinq fois.",
            ),
        ),
        Wrong(
            "the model's text is lost",
            LOOP.replace('{text}<|im_end|>\\n"', '<|im_end|>\\n"'),
            Text(
                "The result is in the next prompt, and the call isn't: a result from nowhere. "
                "Append the model's text before it.",
                "Le résultat est dans le prompt suivant, mais pas l'appel : un résultat venu de "
                "nulle part. Ajoute d'abord le texte du modèle.",
            ),
        ),
        Wrong(
            "only broken JSON is an answer",
            LOOP.replace("except (ValueError, TypeError, KeyError):", "except ValueError:"),
            Text(
                'JSON without a `"tool_call"`, or a number alone, ends your function. That\'s an '
                "answer too: catch `TypeError` and `KeyError` as well.",
                'Du JSON sans `"tool_call"`, ou un simple nombre, arrête ta fonction. C\'est aussi '
                "une réponse : attrape également `TypeError` et `KeyError`.",
            ),
        ),
    ),
    solution=capstone,
    explanation=Text(
        "Memory and search need no new machinery: what they find goes into the prompt, and the "
        "loop stays as it was. The sources are your program's word, not the model's; that the "
        "document says what the answer says, nobody has checked yet. Two more things are missing "
        "here, and the package has them: `Prompt` keeps a document with `<|im_end|>` in it from "
        "closing its turn, and `Toolbox` tells the model the tools' arguments too, not only their "
        "names.",
        "La mémoire et la recherche ne demandent pas de nouvelle machinerie : ce qu'elles trouvent "
        "va dans le prompt, et la boucle reste la même. Les sources viennent de ton programme, pas "
        "du modèle ; que le document dise bien ce que dit la réponse, personne ne l'a encore "
        "vérifié. Deux autres choses manquent ici, et le paquet les a : `Prompt` empêche un "
        "document qui contient `<|im_end|>` de fermer son tour, et `Toolbox` donne aussi au modèle "
        "les arguments des outils, pas seulement leurs noms.",
    ),
)
