"""The exercise of lesson 1: the loop around the model, token by token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .task import Case, Code, Expect, Task, Text, Wrong


def next_token_loop(
    next_token: Callable[[list[int]], int],
    prompt_tokens: Sequence[int],
    stop_tokens: Sequence[int],
    max_tokens: int,
) -> list[int]:
    """Generates: asks for the next token, appends it, asks again.

    >>> def count(tokens):
    ...     return tokens[-1] + 1
    >>> next_token_loop(count, prompt_tokens=[1, 2], stop_tokens=[6], max_tokens=10)
    [3, 4, 5]
    >>> next_token_loop(count, prompt_tokens=[1, 2], stop_tokens=[6], max_tokens=2)
    [3, 4]
    """
    tokens = list(prompt_tokens)
    for _ in range(max_tokens):
        token = next_token(tokens)
        if token in stop_tokens:
            break
        tokens.append(token)
    return tokens[len(prompt_tokens) :]


def _asked(prompt: list[int], new: list[int], times: int) -> Expect:
    """The new tokens, and `next_token` asked so many times, each time with all tokens so far."""
    asked = [prompt + new[:number] for number in range(times)]
    shown = ", ".join(map(str, asked))
    return Expect(
        Text(
            f"{new}; " + (f"next_token is given {shown}" if asked else "next_token isn't asked"),
            f"{new} ; "
            + (f"next_token reçoit {shown}" if asked else "next_token n'est pas appelée"),
        ),
        lambda outcome: (
            outcome.value == new and outcome.log == [["next_token", tokens] for tokens in asked]
        ),
    )


COUNT = Code('def next_token(tokens):\n    log("next_token", tokens)\n    return tokens[-1] + 1')
SUM = Code('def next_token(tokens):\n    log("next_token", tokens)\n    return sum(tokens) % 10')
LENGTH = Code("def next_token(tokens):\n    return len(tokens)")
SAME = Code("def next_token(tokens):\n    return 5 if len(tokens) < 8 else 1")
NO_END = Code(
    "def next_token(tokens):\n"
    "    if len(tokens) > 20:\n"
    '        raise RuntimeError("asked far more often than max_tokens")\n'
    "    return tokens[-1] + 1"
)

TASK = Task(
    name="next_token_loop",
    lesson=1,
    title=Text("The next-token loop", "La boucle du token suivant"),
    statement=Text(
        "Write `next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens)`, the loop "
        "that generation consists of. Call `next_token(tokens)` with the list of all tokens so "
        "far, those of the prompt and the new ones after them; it gives one token (an `int`). "
        "Append it and ask again. Stop when `next_token` gives one of the `stop_tokens` (a list; "
        "this token isn't in the result), or after `max_tokens` new tokens. Don't ask for a token "
        "that you can't use any more. Return the list of the new tokens alone, and leave "
        "`prompt_tokens` as it is.",
        "Écris `next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens)`, la boucle "
        "à quoi se résume la génération. Appelle `next_token(tokens)` avec la liste de "
        "tous les tokens jusqu'ici, ceux du prompt puis les nouveaux ; elle donne un token (un "
        "`int`). Ajoute-le et redemande. Arrête-toi quand `next_token` donne un des `stop_tokens` "
        "(une liste ; ce token n'est pas dans le résultat), ou après `max_tokens` nouveaux tokens. "
        "Ne demande pas un token dont tu ne peux plus rien faire. Renvoie la liste des nouveaux "
        "tokens seuls, et laisse `prompt_tokens` tel quel.",
    ),
    stub="def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):\n    pass",
    cases=(
        Case(
            Text("until a stop token", "jusqu'à un token d'arrêt"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1, 2, 3],
                "stop_tokens": [7],
                "max_tokens": 10,
            },
            [4, 5, 6],
            Text(
                "The stop token says that the text ends; it's no part of the text.",
                "Le token d'arrêt dit que le texte est fini ; il n'en fait pas partie.",
            ),
        ),
        Case(
            Text("max_tokens is the budget", "max_tokens est le budget"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1, 2, 3],
                "stop_tokens": [9],
                "max_tokens": 4,
            },
            _asked([1, 2, 3], [4, 5, 6, 7], 4),
            Text(
                "A model that doesn't end its text would go on for ever. And each question costs "
                "a pass through all weights, so don't ask once more for nothing.",
                "Un modèle qui ne finit pas son texte continuerait sans fin. Et chaque question "
                "coûte un passage par tous les poids : n'en pose pas une de trop.",
            ),
        ),
        Case(
            Text("the model is given everything so far", "le modèle reçoit tout jusqu'ici"),
            {
                "next_token": SUM,
                "prompt_tokens": [1, 2],
                "stop_tokens": [8],
                "max_tokens": 10,
            },
            _asked([1, 2], [3, 6, 2, 4], 5),
            Text(
                "The model remembers nothing: what isn't in the list, it doesn't know.",
                "Le modèle ne se souvient de rien : ce qui n'est pas dans la liste, il l'ignore.",
            ),
        ),
        Case(
            Text("several stop tokens", "plusieurs tokens d'arrêt"),
            {
                "next_token": COUNT,
                "prompt_tokens": [5],
                "stop_tokens": [20, 9, 12],
                "max_tokens": 10,
            },
            [6, 7, 8],
            Text(
                "Many models have more than one: the end of a turn, the end of a text.",
                "Beaucoup de modèles en ont plus d'un : la fin d'un tour, la fin d'un texte.",
            ),
        ),
        Case(
            Text("a stop token at once", "un token d'arrêt tout de suite"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1, 2],
                "stop_tokens": [3],
                "max_tokens": 10,
            },
            _asked([1, 2], [], 1),
            Text(
                "A model may have nothing to say; an empty answer is an answer.",
                "Un modèle peut n'avoir rien à dire ; une réponse vide est une réponse.",
            ),
        ),
        Case(
            Text("a budget of 0", "un budget de 0"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1, 2],
                "stop_tokens": [9],
                "max_tokens": 0,
            },
            _asked([1, 2], [], 0),
            Text(
                "Without room for a token there's no reason to ask for one.",
                "Sans place pour un token, pas de raison d'en demander un.",
            ),
        ),
        Case(
            Text("a stop token in the prompt", "un token d'arrêt dans le prompt"),
            {
                "next_token": SUM,
                "prompt_tokens": [2, 4, 2],
                "stop_tokens": [2],
                "max_tokens": 10,
            },
            [8, 6],
            Text(
                "A chat's prompt is full of stop tokens: each turn before ended with one.",
                "Le prompt d'une conversation est plein de tokens d'arrêt : chaque tour précédent "
                "finit par l'un d'eux.",
            ),
            hidden=True,
        ),
        Case(
            Text("an empty prompt", "un prompt vide"),
            {
                "next_token": LENGTH,
                "prompt_tokens": [],
                "stop_tokens": [3],
                "max_tokens": 10,
            },
            [0, 1, 2],
            Text(
                "The loop needs no first token, and 0 is a token like any other.",
                "La boucle n'a pas besoin d'un premier token, et 0 est un token comme un autre.",
            ),
            hidden=True,
        ),
        Case(
            Text("no stop tokens", "aucun token d'arrêt"),
            {
                "next_token": NO_END,
                "prompt_tokens": [3, 2],
                "stop_tokens": [],
                "max_tokens": 3,
            },
            [3, 4, 5],
            Text(
                "Some texts are only to go on for so many tokens.",
                "Certains textes doivent seulement continuer pendant tant de tokens.",
            ),
            hidden=True,
        ),
        Case(
            Text("a token again and again", "toujours le même token"),
            {
                "next_token": SAME,
                "prompt_tokens": [5, 5],
                "stop_tokens": [1],
                "max_tokens": 3,
            },
            [5, 5, 5],
            Text(
                "Small models do repeat themselves. The loop just counts.",
                "Les petits modèles se répètent. La boucle ne fait que compter.",
            ),
            hidden=True,
        ),
        Case(
            Text("an end close to the budget's", "une fin proche de celle du budget"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1],
                "stop_tokens": [5],
                "max_tokens": 4,
            },
            _asked([1], [2, 3, 4], 4),
            Text(
                "The last token that the budget allows may be the stop token.",
                "Le dernier token que permet le budget peut être le token d'arrêt.",
            ),
            hidden=True,
        ),
        Case(
            Text("an end close to the budget's", "une fin proche de celle du budget"),
            {
                "next_token": COUNT,
                "prompt_tokens": [1],
                "stop_tokens": [5],
                "max_tokens": 3,
            },
            _asked([1], [2, 3, 4], 3),
            Text(
                "When the budget is used up, it doesn't matter any more what would come next.",
                "Quand le budget est épuisé, peu importe ce qui viendrait ensuite.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "It's `generate` from the lesson, with the choice of a token behind `next_token`. How "
            "often does its `for` go round at most, and what ends it earlier?",
            "C'est `generate` de la leçon, avec le choix d'un token derrière `next_token`. Combien "
            "de tours fait son `for` au plus, et qu'est-ce qui l'arrête plus tôt ?",
        ),
        Text(
            "Begin with a copy, `tokens = list(prompt_tokens)`, which you can append to. In the "
            "loop, look at the token *before* you append it.",
            "Commence par une copie, `tokens = list(prompt_tokens)`, à laquelle tu peux ajouter. "
            "Dans la boucle, regarde le token *avant* de l'ajouter.",
        ),
        Text(
            "`for _ in range(max_tokens)`: `token = next_token(tokens)`; if `token in "
            "stop_tokens`, `break`; else append it. At the end, the new ones are "
            "`tokens[len(prompt_tokens):]`.",
            "`for _ in range(max_tokens)` : `token = next_token(tokens)` ; si `token in "
            "stop_tokens`, `break` ; sinon, ajoute-le. À la fin, les nouveaux sont "
            "`tokens[len(prompt_tokens):]`.",
        ),
    ),
    wrong=(
        Wrong(
            "the prompt comes back too",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    tokens = list(prompt_tokens)
    for _ in range(max_tokens):
        token = next_token(tokens)
        if token in stop_tokens:
            break
        tokens.append(token)
    return tokens
""",
            Text(
                "You return the prompt's tokens as well. Cut them off: "
                "`tokens[len(prompt_tokens):]`.",
                "Tu renvoies aussi les tokens du prompt. Enlève-les : "
                "`tokens[len(prompt_tokens):]`.",
            ),
        ),
        Wrong(
            "the stop token is in the result",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    for _ in range(max_tokens):
        token = next_token(prompt_tokens + new)
        new.append(token)
        if token in stop_tokens:
            break
    return new
""",
            Text(
                "The stop token is in your result. Ask whether it's one before you append it.",
                "Le token d'arrêt est dans ton résultat. Demande si c'en est un avant de "
                "l'ajouter.",
            ),
        ),
        Wrong(
            "one token too many",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    while len(new) <= max_tokens:
        token = next_token(prompt_tokens + new)
        if token in stop_tokens:
            break
        new.append(token)
    return new
""",
            Text(
                "You generate one token more than `max_tokens`. With `max_tokens` of them in the "
                "list it's full: `<`, not `<=`.",
                "Tu génères un token de plus que `max_tokens`. Avec `max_tokens` tokens, la liste "
                "est pleine : `<`, pas `<=`.",
            ),
        ),
        Wrong(
            "asks with the prompt alone",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    for _ in range(max_tokens):
        token = next_token(prompt_tokens)
        if token in stop_tokens:
            break
        new.append(token)
    return new
""",
            Text(
                "You ask with the same prompt each time, so the model gives the same token each "
                "time. Pass on what it has generated as well.",
                "Tu demandes chaque fois avec le même prompt, et le modèle donne chaque fois le "
                "même token. Passe aussi ce qu'il a déjà généré.",
            ),
        ),
        Wrong(
            "asks with the last token alone",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    tokens = list(prompt_tokens)
    for _ in range(max_tokens):
        token = next_token(tokens[-1:])
        if token in stop_tokens:
            break
        tokens.append(token)
    return tokens[len(prompt_tokens):]
""",
            Text(
                "You pass on the last token only. The model looks at everything written so far: "
                "pass the whole list.",
                "Tu ne passes que le dernier token. Le modèle regarde tout ce qui est écrit "
                "jusqu'ici : passe la liste entière.",
            ),
        ),
        Wrong(
            "the caller's prompt grows",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    tokens = prompt_tokens
    start = len(prompt_tokens)
    for _ in range(max_tokens):
        token = next_token(tokens)
        if token in stop_tokens:
            break
        tokens.append(token)
    return tokens[start:]
""",
            Text(
                "`tokens = prompt_tokens` is a second name for the same list, so you append to the "
                "caller's prompt. Make a copy: `list(prompt_tokens)`.",
                "`tokens = prompt_tokens` est un second nom de la même liste : tu ajoutes au "
                "prompt de l'appelant. Fais une copie : `list(prompt_tokens)`.",
            ),
        ),
        Wrong(
            "knows the first stop token only",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    for _ in range(max_tokens):
        token = next_token(prompt_tokens + new)
        if token == stop_tokens[0]:
            break
        new.append(token)
    return new
""",
            Text(
                "`stop_tokens` is a list, with any number of tokens in it: `token in stop_tokens`.",
                "`stop_tokens` est une liste, avec un nombre quelconque de tokens : "
                "`token in stop_tokens`.",
            ),
        ),
        Wrong(
            "asks once too often",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    token = next_token(prompt_tokens)
    while token not in stop_tokens and len(new) < max_tokens:
        new.append(token)
        token = next_token(prompt_tokens + new)
    return new
""",
            Text(
                "The result is right, but at the end of the budget you have asked for one more "
                "token and thrown it away. Look at `max_tokens` before you ask.",
                "Le résultat est juste, mais à la fin du budget tu as demandé un token de plus, "
                "que tu jettes. Regarde `max_tokens` avant de demander.",
            ),
        ),
        Wrong(
            "max_tokens isn't used",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    while True:
        token = next_token(prompt_tokens + new)
        if token in stop_tokens:
            return new
        new.append(token)
""",
            Text(
                "Only a stop token ends your loop, and some models never give one. Go round at "
                "most `max_tokens` times.",
                "Seul un token d'arrêt finit ta boucle, et certains modèles n'en donnent jamais. "
                "Fais au plus `max_tokens` tours.",
            ),
        ),
        Wrong(
            "a stop token in the prompt ends it",
            """
def next_token_loop(next_token, prompt_tokens, stop_tokens, max_tokens):
    new = []
    while len(new) < max_tokens and (prompt_tokens + new)[-1] not in stop_tokens:
        new.append(next_token(prompt_tokens + new))
    return [token for token in new if token not in stop_tokens]
""",
            Text(
                "You look at the last token of the list, which may be the prompt's, or there may "
                "be none yet. Look at the token that `next_token` gave.",
                "Tu regardes le dernier token de la liste : c'est peut-être celui du prompt, ou il "
                "n'y en a pas encore. Regarde le token que `next_token` a donné.",
            ),
        ),
    ),
    solution=next_token_loop,
    explanation=Text(
        "A prompt goes in, tokens come out, and all that a model adds is `next_token`: the logits, "
        "and a choice among them. `llm(…)` runs this loop in llama.cpp, and the package's own "
        "`generate` runs it in Python when the answer must keep to a grammar (lesson 9). Yours "
        'doesn\'t say yet why it ended: a completion does, in `finish_reason`, `"stop"` for a '
        'stop token and `"length"` for the budget.',
        "Un prompt entre, des tokens sortent, et tout ce qu'un modèle apporte est `next_token` : "
        "les logits, et un choix parmi eux. `llm(…)` fait tourner cette boucle dans llama.cpp, et "
        "`generate` du paquet la fait tourner en Python quand la réponse doit suivre une grammaire "
        "(leçon 9). La tienne ne dit pas encore pourquoi elle s'est arrêtée : une complétion le "
        'dit, dans `finish_reason`, `"stop"` pour un token d\'arrêt et `"length"` pour le budget.',
    ),
)
