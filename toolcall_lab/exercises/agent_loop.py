r"""The exercise of lesson 7: ask, run the call, append both, ask again, up to a limit.

The name is French: *outils* are tools. The tests' model is a script; it notes of each prompt what
the contract fixes, and not the system turn's own words, so that mistakes can be recognised.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..chatml import IM_END, IM_START
from .task import Case, Code, Expect, Outcome, Task, Text, Wrong


def agent_loop(
    llm: Callable[..., Mapping[str, Any]],
    outils: Mapping[str, Callable[..., Any]],
    question: str,
    max_steps: int = 10,
) -> str:
    """Asks the model, runs the call that it makes, and asks again, until it answers without one.

    >>> script = ['{"tool_call": {"name": "add", "arguments": {"a": 3, "b": 7}}}', "It's 10."]
    >>> def llm(prompt, **options):
    ...     return {"choices": [{"text": script.pop(0)}]}
    >>> agent_loop(llm, {"add": lambda a, b: a + b}, "What is 3 + 7?")
    "It's 10."
    """
    prompt = (
        f"<|im_start|>system\nAvailable tools: {', '.join(outils)}\n"
        'To use a tool, reply with {"tool_call": {"name": "<tool_name>", "arguments": {...}}}.'
        f"<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
    )
    for _ in range(max_steps):
        # max_tokens: None is all the room there is; a call that is cut would pass for an answer
        output = llm(prompt, max_tokens=None, stop=["<|im_end|>", "<|im_start|>"])
        text: str = output["choices"][0]["text"]
        try:
            call = json.loads(text)["tool_call"]
            name, arguments = call["name"], call["arguments"]
        except (ValueError, TypeError, KeyError):
            return text
        if name not in outils:
            result = f"Unknown tool: {name}"
        else:
            try:
                result = str(outils[name](**arguments))
            except Exception as error:
                result = repr(error)  # the model can read it, and try something else
        prompt += f"{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n<|im_start|>assistant\n"
    return "[Erreur] Agent bloqué, max steps atteint."


LIMIT = "[Erreur] Agent bloqué, max steps atteint."
SYSTEM, TOOL = f"{IM_START}system\n", f"{IM_END}\n{IM_START}tool\n"
OPEN = f"{IM_END}\n{IM_START}assistant\n"

TOOLS = {
    "get_weather": Code("""
def get_weather(city):
    log("get_weather", city)
    known = {"Paris": "18 °C, partly cloudy", "Tokyo": "22 °C, sunny"}
    if city not in known:
        raise ValueError(f"no weather station in {city}")
    return known[city]
"""),
    "get_time": Code('def get_time():\n    log("get_time")\n    return "14:32:15"'),
}
VALUES = {
    "unread": Code('def unread():\n    log("unread")\n    return 0'),
    "is_open": Code('def is_open():\n    log("is_open")\n    return False'),
    "last_line": Code('def last_line():\n    log("last_line")\n    return ""'),
    "wipe": Code('def wipe():\n    log("wipe")\n    return None'),
    "book": Code(
        'def book(city, nights):\n    log("book", city, nights)\n'
        '    return {"booked": [city, nights]}'
    ),
}


def _call(name: str, **arguments: Any) -> str:
    return json.dumps({"tool_call": {"name": name, "arguments": arguments}})


def _llm(tools: Mapping[str, Code], *texts: str) -> Code:
    """A model that says these texts; it notes each prompt, of the system turn the tools' names."""
    script = "".join(f"    {text!r},\n" for text in texts)
    words = '__import__("re").findall(r"\\w+", prompt.split("<|im_end|>")[0])'
    return Code(
        f"""
script = [
{script}]
prompts = []

def llm(prompt, stop=None, **options):
    if not isinstance(prompt, str):
        raise TypeError(f"the prompt must be one text, not a {{type(prompt).__name__}}")
    log("system", prompt[:19], [tool for tool in {list(tools)} if tool in {words}])
    log("turns", prompt.startswith("".join(prompts[-1:])), prompt.split("<|im_end|>", 1)[-1])
    prompts.append(prompt)
    if len(prompts) > len(script):
        raise RuntimeError(f"inference {{len(prompts)}}: the script has only {{len(script)}} texts")
    text = script[len(prompts) - 1]
    for mark in [stop] if isinstance(stop, str) else stop or []:
        text = text.split(mark)[0]
    return {{"choices": [{{"text": text}}]}}
""",
        words=f"llm = Script([\n{script}])",
    )


Turn = tuple[str, str | tuple[str, ...]]


def _did(
    tools: Mapping[str, Code],
    question: str,
    turns: tuple[Turn, ...],
    calls: list[list[Any]],
    answer: str,
) -> Callable[[Outcome], bool]:
    """Whether it asked once more than there are `turns`, with one turn more in each prompt.

    A turn is the model's text and the result: its exact text, or a tuple of what it must hold. At
    the limit, the last of the `calls` may be left out: nobody reads its result.
    """

    def check(outcome: Outcome) -> bool:
        notes: dict[str, list[list[Any]]] = {"system": [], "turns": []}
        made = []
        for name, *values in outcome.log:
            if name in notes:
                notes[name].append(values)
            else:
                made.append([name, *values])
        return (
            type(outcome.value) is str
            and outcome.value == answer
            and (made == calls or (answer == LIMIT and made == calls[:-1]))
            and all(system == [SYSTEM, list(tools)] for system in notes["system"])
            and all(grown for grown, _ in notes["turns"])
            and reads([rest for _, rest in notes["turns"]])
        )

    def reads(prompts: list[str]) -> bool:
        wanted = f"\n{IM_START}user\n{question}{OPEN}"
        if len(prompts) != len(turns) + 1 or prompts[0] != wanted:
            return False
        for before, after, (text, result) in zip(prompts, prompts[1:], turns, strict=False):
            begin = before + text + TOOL
            given = after[len(begin) : -len(OPEN)]
            if after != begin + given + OPEN or IM_START in given:
                return False
            if given != result if isinstance(result, str) else not _says(given, result):
                return False
        return True

    return check


def _says(text: str, words: tuple[str, ...]) -> bool:
    """Whether these stand in the text, as words of their own, and more than just one of them."""
    found = all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words)
    return found and text.strip() not in words


def _case(
    name: Text,
    question: str,
    turns: tuple[Turn, ...],
    calls: list[list[Any]],
    answer: str,
    expected: Text,
    why: Text,
    *,
    tools: Mapping[str, Code] = TOOLS,
    script: tuple[str, ...] = (),
    max_steps: int | None = None,
    hidden: bool = False,
) -> Case:
    """A test. The script, unless it's given, has the texts of the turns and the answer."""
    script = script or (*(text for text, _ in turns), answer)
    arguments = {"llm": _llm(tools, *script), "outils": dict(tools), "question": question}
    if max_steps is not None:
        arguments["max_steps"] = max_steps
    check = _did(tools, question, turns, calls, answer)
    return Case(name, arguments, Expect(expected, check), why, hidden)


PARIS = _call("get_weather", city="Paris")
TOKYO = _call("get_weather", city="Tokyo")
ATLANTIS = _call("get_weather", city="Atlantis")
TIME = _call("get_time")
SUNNY, CLOUDY, NOON = "22 °C, sunny", "18 °C, partly cloudy", "14:32:15"
MAIL = _call("send_email", to="ada@example.com")
MENTION = f"I would look at the clock with {TIME}, but you only asked how."

_NO_CALL = Text(
    "the model's text, after one inference, and no tool is run",
    "le texte du modèle, après une inférence, sans exécuter d'outil",
)
_JSON = Text("an answer that is JSON", "une réponse qui est du JSON")
_WHY_JSON = Text(
    "Asked for JSON, a model answers in JSON. That's no call, and mustn't break the loop.",
    "Si on lui demande du JSON, un modèle répond en JSON. Ce n'est pas un appel, et la boucle ne "
    "doit pas casser.",
)

# The parts of a right loop; a known mistake has one of them in its own words.
BEGIN = r"""
import json

def agent_loop(llm, outils, question, max_steps=10):
    prompt = f"<|im_start|>system\nTools: {', '.join(outils)}<|im_end|>\n"
    prompt += f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
"""
STEPS = """\
    for step in range(max_steps):
"""
ASK = """\
        output = llm(prompt, stop=["<|im_end|>", "<|im_start|>"])
        text = output["choices"][0]["text"]
"""
READ = """\
        try:
            call = json.loads(text)["tool_call"]
        except (ValueError, TypeError, KeyError):
            return text
"""
RUN = """\
        if call["name"] not in outils:
            result = f"Unknown tool: {call['name']}"
        else:
            try:
                result = str(outils[call["name"]](**call["arguments"]))
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
"""
APPEND = r"""
        prompt += f"{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n"
        prompt += "<|im_start|>assistant\n"
"""
END = """\
    return "[Erreur] Agent bloqué, max steps atteint."
"""


def _loop(
    begin: str = BEGIN,
    steps: str = STEPS,
    ask: str = ASK,
    read: str = READ,
    run: str = RUN,
    append: str = APPEND,
) -> str:
    return begin + steps + ask + read + run + append.removeprefix("\n") + END


TASK = Task(
    name="agent_loop",
    lesson=7,
    title=Text("The agent loop", "La boucle agent"),
    statement=Text(
        "Write `agent_loop(llm, outils, question, max_steps=10)`: the lesson's loop, for any "
        "tools. `outils` (tools) is a dictionary from names to functions.\n\n"
        "1. Begin the prompt with a system turn that names every tool, a user turn with the "
        "question, and an open assistant turn: `<|im_start|>system\\n…<|im_end|>\\n"
        "<|im_start|>user\\n…<|im_end|>\\n<|im_start|>assistant\\n`.\n"
        '2. Ask with `llm(prompt, stop=["<|im_end|>", "<|im_start|>"])`; more options are up to '
        'you. The text is `output["choices"][0]["text"]`.\n'
        "3. The text is a call if the whole of it is JSON of the form "
        '`{"tool_call": {"name": …, "arguments": {…}}}`; `json.loads` in a `try` is enough to see '
        "it. Every other text is the answer: return it as it is.\n"
        "4. Run the call, with its arguments by name. The result is what the tool returns, "
        "made a text by `str`. If there is no such tool, it's a text that says so and names it; if "
        "the tool raises, a text with the exception's class and message.\n"
        "5. Append to the prompt, in which nothing else changes: the model's text, "
        "`<|im_end|>\\n<|im_start|>tool\\n`, the result, `<|im_end|>\\n<|im_start|>assistant\\n`. "
        "Then go back to 2.\n\n"
        "If there is no answer after `max_steps` inferences, return "
        '`"[Erreur] Agent bloqué, max steps atteint."`.',
        "Écris `agent_loop(llm, outils, question, max_steps=10)` : la boucle de la leçon, pour "
        "n'importe quels outils. `outils` est un dictionnaire qui va des noms aux fonctions.\n\n"
        "1. Commence le prompt par un tour système qui nomme chaque outil, un tour utilisateur "
        "avec la question, et un tour assistant ouvert : `<|im_start|>system\\n…<|im_end|>\\n"
        "<|im_start|>user\\n…<|im_end|>\\n<|im_start|>assistant\\n`.\n"
        '2. Demande avec `llm(prompt, stop=["<|im_end|>", "<|im_start|>"])` ; tu peux ajouter '
        'd\'autres options. Le texte est `output["choices"][0]["text"]`.\n'
        "3. Le texte est un appel s'il est, en entier, du JSON de la forme "
        '`{"tool_call": {"name": …, "arguments": {…}}}` ; `json.loads` dans un `try` suffit pour '
        "le voir. Tout autre texte est la réponse : renvoie-le tel quel.\n"
        "4. Exécute l'appel, avec ses arguments par leur nom. Le résultat est ce que renvoie "
        "l'outil, mis en texte par `str`. Si cet outil n'existe pas, c'est un texte qui le "
        "dit et le nomme ; si l'outil lève une exception, un texte avec la classe et le message de "
        "l'exception.\n"
        "5. Ajoute à la fin du prompt, sans rien y changer d'autre : le texte du modèle, "
        "`<|im_end|>\\n<|im_start|>tool\\n`, le résultat, "
        "`<|im_end|>\\n<|im_start|>assistant\\n`. Puis reviens à 2.\n\n"
        "S'il n'y a pas de réponse après `max_steps` inférences, renvoie "
        '`"[Erreur] Agent bloqué, max steps atteint."`.',
    ),
    stub="def agent_loop(llm, outils, question, max_steps=10):\n    pass",
    cases=(
        _case(
            Text("an answer without a call", "une réponse sans appel"),
            "Say hello.",
            (),
            [],
            "Hello! What can I do for you?",
            Text(
                "the model's text, after one inference, with a prompt of a system turn that names "
                "get_weather and get_time, a user turn with the question, an open assistant turn",
                "le texte du modèle, après une inférence, avec un prompt fait d'un tour système "
                "qui nomme get_weather et get_time, d'un tour utilisateur avec la question, d'un "
                "tour assistant ouvert",
            ),
            Text(
                "Without a call the work is done. A tool that isn't named can't be called.",
                "Sans appel, le travail est fini. Un outil qui n'est pas nommé ne peut être "
                "appelé.",
            ),
        ),
        _case(
            Text("a call, its result, an answer", "un appel, son résultat, une réponse"),
            "What is the weather in Paris?",
            ((PARIS, CLOUDY),),
            [["get_weather", "Paris"]],
            "It is 18 °C and partly cloudy in Paris.",
            Text(
                "the second text; the second prompt is the first, then the call as it was "
                "written, its end, a tool turn with the result, and an open assistant turn",
                "le deuxième texte ; le deuxième prompt est le premier, puis l'appel tel qu'il "
                "est écrit, sa fin, un tour `tool` avec le résultat, et un tour assistant "
                "ouvert",
            ),
            Text(
                "The model remembers nothing but the prompt: what it asked and what came of it "
                "must both be in there.",
                "Le modèle ne se souvient que du prompt : ce qu'il a demandé et ce qui en est "
                "sorti doivent y être tous les deux.",
            ),
            max_steps=2,
        ),
        _case(
            Text("two calls one after the other", "deux appels l'un après l'autre"),
            "What is the weather in Tokyo? And what time is it?",
            ((TOKYO, SUNNY), (TIME, NOON)),
            [["get_weather", "Tokyo"], ["get_time"]],
            "It is sunny in Tokyo, 22 °C, at 14:32:15.",
            Text(
                "the third text; each prompt begins with the whole prompt before it",
                "le troisième texte ; chaque prompt commence par tout le prompt précédent",
            ),
            Text(
                "After the second result the model still needs the first. And what already "
                "stood in the prompt needn't be read again.",
                "Après le deuxième résultat, le modèle a encore besoin du premier. Et ce qui "
                "était déjà dans le prompt n'a pas à être relu.",
            ),
        ),
        _case(
            Text("an unknown tool", "un outil inconnu"),
            "Send a mail to ada@example.com.",
            ((MAIL, ("send_email",)),),
            [],
            "I have no tool that sends mails.",
            Text(
                "the second text; the tool turn before it says that there is no send_email",
                "le deuxième texte ; le tour `tool` qui le précède dit qu'il n'y a pas de "
                "send_email",
            ),
            Text(
                "Models invent tools. Once told, they can choose another one, or say so.",
                "Les modèles inventent des outils. Si on le leur dit, ils peuvent en choisir un "
                "autre, ou l'avouer.",
            ),
        ),
        _case(
            Text("a tool that raises", "un outil qui lève une exception"),
            "What is the weather in Atlantis?",
            ((ATLANTIS, ("ValueError", "no weather station in Atlantis")),),
            [["get_weather", "Atlantis"]],
            "There is no weather station in Atlantis.",
            Text(
                "the second text; the tool turn before it says ValueError and the message",
                "le deuxième texte ; le tour `tool` qui le précède dit ValueError et le message",
            ),
            Text(
                "An error is a result too: the model can read it and try something else. An "
                "exception ends the agent.",
                "Une erreur est aussi un résultat : le modèle peut la lire et essayer autre "
                "chose. Une exception arrête l'agent.",
            ),
        ),
        _case(
            Text("a model that never answers", "un modèle qui ne répond jamais"),
            "What time is it?",
            ((TIME, NOON), (TIME, NOON)),
            [["get_time"]] * 3,
            LIMIT,
            Text(f'"{LIMIT}", after 3 inferences', f"« {LIMIT} », après 3 inférences"),
            Text(
                "The limit is yours to set. The model won't.",
                "La limite, c'est à toi de la fixer. Le modèle ne le fera pas.",
            ),
            script=(TIME,) * 5,
            max_steps=3,
        ),
        _case(
            Text("results of all kinds", "des résultats de toutes sortes"),
            "Book two nights in Rome if there is no mail.",
            (
                (_call("unread"), "0"),
                (_call("is_open"), "False"),
                (_call("last_line"), ""),
                (_call("wipe"), "None"),
                (_call("book", nights=2, city="Rome"), "{'booked': ['Rome', 2]}"),
            ),
            [["unread"], ["is_open"], ["last_line"], ["wipe"], ["book", "Rome", 2]],
            "Booked.",
            Text(
                "the sixth text; the tool turns hold `str` of each result",
                "le sixième texte ; les tours `tool` contiennent `str` de chaque résultat",
            ),
            Text(
                "0 unread mails is an answer. If it's lost, the model asks again, or makes one up.",
                "0 courriel non lu est une réponse. Si elle se perd, le modèle redemande, ou "
                "invente.",
            ),
            tools=VALUES,
            hidden=True,
        ),
        _case(
            _JSON,
            "The weather in Paris as JSON, please.",
            (),
            [],
            '{"city": "Paris", "weather": "unknown"}',
            _NO_CALL,
            _WHY_JSON,
            hidden=True,
        ),
        _case(
            _JSON,
            "What is 6 times 7? Only the number, please.",
            (),
            [],
            "42",
            _NO_CALL,
            _WHY_JSON,
            hidden=True,
        ),
        _case(
            Text("a text that only mentions a call", "un texte qui ne fait que citer un appel"),
            "How would you find out the time?",
            (),
            [],
            MENTION,
            _NO_CALL,
            Text(
                "To explain a call isn't to make it.",
                "Expliquer un appel n'est pas le faire.",
            ),
            hidden=True,
        ),
        _case(
            Text("the limit if none is given", "la limite si aucune n'est donnée"),
            "What is the weather in Tokyo?",
            ((TOKYO, SUNNY),) * 9,
            [["get_weather", "Tokyo"]] * 10,
            LIMIT,
            Text(f'"{LIMIT}", after 10 inferences', f"« {LIMIT} », après 10 inférences"),
            Text(
                "A limit that one must remember to set is no limit.",
                "Une limite qu'il faut penser à fixer n'en est pas une.",
            ),
            script=(*(TOKYO,) * 10, "It is sunny."),
            hidden=True,
        ),
        _case(
            Text("a model that writes beyond its turn", "un modèle qui écrit au-delà de son tour"),
            "What is the weather in Paris?",
            ((PARIS, CLOUDY),),
            [["get_weather", "Paris"]],
            "It is 18 °C in Paris.",
            Text(
                "the second text, up to the first marker",
                "le deuxième texte, jusqu'au premier marqueur",
            ),
            Text(
                "A model that isn't stopped writes the tool's turn too, and the user's.",
                "Un modèle qu'on n'arrête pas écrit aussi le tour de l'outil, et celui de "
                "l'utilisateur.",
            ),
            script=(
                f"{PARIS}{TOOL}35 °C, storm",
                f"It is 18 °C in Paris.{IM_START}user\nThank you!",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "A `for` over `range(max_steps)` around lesson 6's round: ask, read, run, append. The "
            "answer leaves it by `return`, and what comes after the loop is the limit.",
            "Un `for` sur `range(max_steps)` autour de l'aller-retour de la leçon 6 : demander, "
            "lire, exécuter, ajouter. La réponse en sort par `return`, et ce qui suit la boucle "
            "est la limite.",
        ),
        Text(
            "`json.loads` raises `ValueError` for prose. For JSON that is no call, it's the "
            '`["tool_call"]` after it that raises `KeyError` or `TypeError`: catch all three, '
            "and return the text. Running the tool wants a `try` of its own, around nothing but "
            "the tool.",
            "`json.loads` lève `ValueError` pour de la prose. Pour du JSON qui n'est pas un appel, "
            'c\'est le `["tool_call"]` qui suit qui lève `KeyError` ou `TypeError` : attrape les '
            "trois, et renvoie le texte. L'exécution de l'outil veut son propre `try`, autour de "
            "l'outil seul.",
        ),
        Text(
            'In the loop: `text = llm(prompt, stop=[…])["choices"][0]["text"]`; read `name` and '
            "`arguments`, or `return text`; `result` is a text about the unknown name, "
            "`str(outils[name](**arguments))`, or `repr(error)`; then `prompt += "
            'f"{text}<|im_end|>\\n<|im_start|>tool\\n{result}<|im_end|>\\n'
            '<|im_start|>assistant\\n"`.',
            'Dans la boucle : `text = llm(prompt, stop=[…])["choices"][0]["text"]` ; lis `name` '
            "et `arguments`, ou `return text` ; `result` est un texte sur le nom inconnu, "
            "`str(outils[name](**arguments))`, ou `repr(error)` ; puis `prompt += "
            'f"{text}<|im_end|>\\n<|im_start|>tool\\n{result}<|im_end|>\\n'
            '<|im_start|>assistant\\n"`.',
        ),
    ),
    wrong=(
        Wrong(
            "the prompt forgets",
            _loop(
                append=r"""
        first = prompt if step == 0 else first
        prompt = f"{first}{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n"
        prompt += "<|im_start|>assistant\n"
"""
            ),
            Text(
                "Each time you begin again with the first prompt, so the model sees only its last "
                "call and result. Append to the prompt: `prompt += …`.",
                "À chaque fois, tu repars du premier prompt : le modèle ne voit que son dernier "
                "appel et son dernier résultat. Ajoute à la fin du prompt : `prompt += …`.",
            ),
        ),
        Wrong(
            "the call isn't appended",
            _loop(
                append=r"""
        prompt += f"<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n"
        prompt += "<|im_start|>assistant\n"
"""
            ),
            Text(
                "You append the result, but not what the model wrote: it finds an answer to a "
                "question that it never asked. The model's text comes first, then `<|im_end|>`.",
                "Tu ajoutes le résultat, mais pas ce que le modèle a écrit : il trouve une réponse "
                "à une question qu'il n'a jamais posée. D'abord le texte du modèle, puis "
                "`<|im_end|>`.",
            ),
        ),
        Wrong(
            "the result in a user turn",
            _loop(
                append=r"""
        prompt += f"{text}<|im_end|>\n<|im_start|>user\n{result}<|im_end|>\n"
        prompt += "<|im_start|>assistant\n"
"""
            ),
            Text(
                "You give the result back as if the user had said it. It has a role of its own: "
                "`<|im_start|>tool`.",
                "Tu rends le résultat comme si l'utilisateur l'avait dit. Il a un rôle à lui : "
                "`<|im_start|>tool`.",
            ),
        ),
        Wrong(
            "the assistant's turn isn't opened",
            _loop(
                append=r"""
        prompt += f"{text}<|im_end|>\n<|im_start|>tool\n{result}<|im_end|>\n"
"""
            ),
            Text(
                "After the result it's nobody's turn. Open the assistant's again, each time: "
                "`<|im_start|>assistant\\n`.",
                "Après le résultat, ce n'est le tour de personne. Rouvre à chaque fois celui de "
                "l'assistant : `<|im_start|>assistant\\n`.",
            ),
        ),
        Wrong(
            "one round only",
            _loop(append=APPEND + ASK.replace("text =", "return", 1)),
            Text(
                "After the first result you return whatever the model writes, even a call. Go back "
                "to the top of the loop and read it: only a text without a call is the answer.",
                "Après le premier résultat, tu renvoies ce que le modèle écrit, même un appel. "
                "Reviens en haut de la boucle et lis-le : seul un texte sans appel est la réponse.",
            ),
        ),
        Wrong(
            "one inference too many",
            _loop(steps="    for step in range(max_steps + 1):\n"),
            Text(
                "You ask once more than `max_steps` allows. `range(max_steps)` has as many steps "
                "as it should, though it begins at 0.",
                "Tu demandes une fois de plus que `max_steps` ne le permet. `range(max_steps)` a "
                "le bon nombre d'étapes, même s'il commence à 0.",
            ),
        ),
        Wrong(
            "the answer of the last step is lost",
            _loop(ask=ASK + "        if step == max_steps - 1:\n            break\n"),
            Text(
                "In the last step you ask, and then don't look at the text. It may be the answer: "
                "the error comes only after the loop.",
                "À la dernière étape, tu demandes, puis tu ne regardes pas le texte. C'est "
                "peut-être la réponse : l'erreur ne vient qu'après la boucle.",
            ),
        ),
        Wrong(
            "raises on an unknown tool",
            _loop(
                run="""\
        tool = outils[call["name"]]
        try:
            result = str(tool(**call["arguments"]))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
"""
            ),
            Text(
                "For a tool that doesn't exist your function raises. Ask `if name not in outils` "
                "first, and give the model a text that names it.",
                "Pour un outil qui n'existe pas, ta fonction lève une exception. Demande d'abord "
                "`if name not in outils`, et donne au modèle un texte qui le nomme.",
            ),
        ),
        Wrong(
            "a tool's exception ends the agent",
            _loop(
                run="""\
        if call["name"] not in outils:
            result = f"Unknown tool: {call['name']}"
        else:
            result = str(outils[call["name"]](**call["arguments"]))
"""
            ),
            Text(
                "When a tool raises, your agent ends. Put a `try` around the tool, and give the "
                "model the exception's class and message as the result.",
                "Quand un outil lève une exception, ton agent s'arrête. Mets un `try` autour de "
                "l'outil, et donne au modèle la classe et le message de l'exception comme "
                "résultat.",
            ),
        ),
        Wrong(
            "the result is added as it is",
            _loop(
                run=RUN.replace("str(", "(", 1),
                append=r"""
        prompt += text + "<|im_end|>\n<|im_start|>tool\n" + result
        prompt += "<|im_end|>\n<|im_start|>assistant\n"
""",
            ),
            Text(
                "A result that is no text can't be added to one with `+`. Make a text of it: "
                "`str(result)`, or an f-string.",
                "Un résultat qui n'est pas un texte ne s'ajoute pas à un texte avec `+`. Mets-le "
                "en texte : `str(result)`, ou une f-string.",
            ),
        ),
        Wrong(
            "a falsy result is taken for none",
            _loop(
                append=r"""
        result = result if result not in ("", "0", "None", "False") else "no result"
"""
                + APPEND.removeprefix("\n")
            ),
            Text(
                "0, False, None and an empty text are results too: don't use `or` or `if result`.",
                "0, False, None et un texte vide sont aussi des résultats : n'utilise ni `or` ni "
                "`if result`.",
            ),
        ),
        Wrong(
            "all JSON is taken for a call",
            _loop(
                read="""\
        try:
            answer = json.loads(text)
        except ValueError:
            return text
        call = answer["tool_call"]
"""
            ),
            Text(
                "Your function breaks on an answer that is JSON, but no call. Take "
                '`["tool_call"]` within the `try`, and catch `KeyError` and `TypeError` too.',
                "Ta fonction casse sur une réponse qui est du JSON, mais pas un appel. Prends "
                '`["tool_call"]` dans le `try`, et attrape aussi `KeyError` et `TypeError`.',
            ),
        ),
        Wrong(
            "a call is found anywhere in the text",
            _loop(
                read=r"""
        import re
        found = re.search(r'\{\s*"tool_call".*\}', text, re.DOTALL)
        if not found:
            return text
        call = json.loads(found.group())["tool_call"]
""".removeprefix("\n")
            ),
            Text(
                "You run a call that the model only mentions. Here a call is the whole text: give "
                "all of it to `json.loads`, and don't search in it.",
                "Tu exécutes un appel que le modèle ne fait que citer. Ici, un appel est le texte "
                "entier : donne-le tout entier à `json.loads`, sans chercher dedans.",
            ),
        ),
        Wrong(
            "the model isn't stopped",
            _loop(
                ask="""\
        output = llm(prompt)
        text = output["choices"][0]["text"]
"""
            ),
            Text(
                "Without `stop` a model can go on, and write the tool's turn and the user's as "
                'well. Pass `stop=["<|im_end|>", "<|im_start|>"]`.',
                "Sans `stop`, un modèle peut continuer, et écrire aussi le tour de l'outil et "
                'celui de l\'utilisateur. Passe `stop=["<|im_end|>", "<|im_start|>"]`.',
            ),
        ),
        Wrong(
            "the tools aren't named",
            _loop(begin=BEGIN.replace("Tools: {', '.join(outils)}", "You are helpful.")),
            Text(
                "Your system turn doesn't name the tools; the model can't know of them. Write "
                "every name from `outils` into it.",
                "Ton tour système ne nomme pas les outils ; le modèle ne peut pas les connaître. "
                "Écris-y chaque nom de `outils`.",
            ),
        ),
    ),
    solution=agent_loop,
    explanation=Text(
        "Ask, run the call, append both, ask again: that's an agent, and whatever goes wrong is a "
        "text that the model can read. The prompt only grows, so at each step the model reads "
        "just what is new. `run_agent` is the same loop with a list of tokens in place of the "
        "text, so that a result which holds `<|im_end|>` can't end a turn, and with the tools' "
        "schemas in the system turn: from names alone, a model has to guess the arguments. What "
        "is missing here is lesson 8: the same call over and over, broken JSON, a full window.",
        "Demander, exécuter l'appel, ajouter les deux, redemander : c'est un agent, et tout ce "
        "qui rate est un texte que le modèle peut lire. Le prompt ne fait que grandir : à chaque "
        "étape, le modèle ne lit que le nouveau. `run_agent` est la même boucle avec une liste de "
        "tokens au lieu du texte, si bien qu'un résultat qui contient `<|im_end|>` ne peut pas "
        "fermer un tour, et avec les schémas des outils dans le tour système : avec les noms "
        "seuls, un modèle doit deviner les arguments. Ce qui manque ici est la leçon 8 : le même "
        "appel sans fin, du JSON cassé, une fenêtre pleine.",
    ),
)
