"""The exercise of lesson 8: a shorter history that parts no call from its results."""

from __future__ import annotations

from typing import Any

from .task import Case, Task, Text, Wrong


def prune_history(messages: list[dict[str, Any]], max_messages: int) -> list[dict[str, Any]]:
    """Keeps the system message, the task, and of the rest the newest that fit, pairs unparted.

    >>> roles = ["system", "user", "assistant", "tool", "assistant", "tool", "tool"]
    >>> messages = [{"role": role, "content": f"message {n}"} for n, role in enumerate(roles)]
    >>> [message["content"] for message in prune_history(messages, 6)]
    ['message 0', 'message 1', 'message 4', 'message 5', 'message 6']
    """
    start = max(2, len(messages) - (max_messages - 2))
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1  # the call of this result is out: the result goes too
    return messages[:2] + messages[start:]


ROLES = {"call": "assistant", "answer": "assistant", "result": "tool", "request": "user"}


def _history(*contents: str) -> list[dict[str, str]]:
    """A system message, the task, and messages whose first words say whose they are."""
    rest = [{"role": ROLES[content.split()[0]], "content": content} for content in contents]
    return [{"role": "system", "content": "rules"}, {"role": "user", "content": "task"}, *rest]


def _case(
    name: Text,
    contents: list[str],
    max_messages: int,
    kept: list[str],
    why: Text,
    *,
    hidden: bool = False,
) -> Case:
    """A test: the contents behind the task, and those of them that stay."""
    arguments = {"messages": _history(*contents), "max_messages": max_messages}
    return Case(name, arguments, _history(*kept), why, hidden)


PAIRS = ["call 1", "result 1", "call 2", "result 2", "call 3", "result 3"]
THREE = ["call 1", "result 1", "call 2", "result 2a", "result 2b", "result 2c", "answer 2"]
LONG = [
    *("call 1", "result 1", "answer 1", "request 2", "call 2", "result 2a", "result 2b"),
    *("call 3", "result 3", "answer 3", "request 4", "answer 4", "request 5", "call 5"),
]
_WHY_FIXED = Text(
    "Without the system message the model knows no tools; without the task it doesn't know what "
    "all of this is for.",
    "Sans le message système, le modèle ne connaît pas les outils ; sans la tâche, il ne sait pas "
    "à quoi tout cela sert.",
)
_NO_ROOM = Text("no room but for these two", "pas de place sauf pour ces deux-là")
_FITS = Text("everything just fits, or nearly", "tout rentre juste, ou presque")
_WHY_FITS = Text(
    "What fits needn't go: each message that goes is something the model has to do without.",
    "Ce qui rentre n'a pas à partir : chaque message retiré va manquer au modèle.",
)

TASK = Task(
    name="prune_history",
    lesson=8,
    title=Text("Prune a history by pairs", "Élaguer un historique par paires"),
    statement=Text(
        "Write `prune_history(messages, max_messages)`. `messages` is a list of dictionaries with "
        '`"role"` and `"content"`: the system message, the task (a `user` message), and what came '
        "of it: `assistant` messages, each with the `tool` messages of its calls, if any, right "
        "after it, and more `user` messages. Return a new list of at most `max_messages` of "
        "them, in the same order; `messages` itself stays as it is.\n\n"
        "- The system message and the task always stay, and count. If `max_messages` is less than "
        "2, just these two stay.\n"
        "- An `assistant` message and the `tool` messages right after it are a group. Any other "
        "message is a group by itself. A group stays as a whole or goes as a whole.\n"
        "- The newest groups stay: go back from the end, and stop at the first group that doesn't "
        "fit any more. What is older goes, even if it would fit.\n\n"
        "If everything fits, everything stays.",
        "Écris `prune_history(messages, max_messages)`. `messages` est une liste de dictionnaires "
        'avec `"role"` et `"content"` : le message système, la tâche (un message `user`), et ce '
        "qui en est sorti : des messages `assistant`, chacun avec les messages `tool` de ses "
        "appels, s'il y en a, juste après lui, et d'autres messages `user`. Renvoie une "
        "nouvelle liste d'au plus `max_messages` d'entre eux, dans le même ordre ; `messages` "
        "reste tel quel.\n\n"
        "- Le message système et la tâche restent toujours, et comptent. Si `max_messages` est "
        "plus petit que 2, il ne reste qu'eux deux.\n"
        "- Un message `assistant` et les messages `tool` juste après lui forment un groupe. "
        "Tout autre message est un groupe à lui seul. Un groupe reste en entier ou part en "
        "entier.\n"
        "- Les groupes les plus récents restent : remonte depuis la fin, et arrête-toi au premier "
        "groupe qui ne rentre plus. Ce qui est plus ancien part, même si cela rentrait.\n\n"
        "Si tout rentre, tout reste.",
    ),
    stub="def prune_history(messages, max_messages):\n    pass",
    cases=(
        _case(
            Text("everything fits", "tout rentre"),
            ["call 1", "result 1", "answer 1"],
            10,
            ["call 1", "result 1", "answer 1"],
            Text(
                "Pruning costs: what follows the gap is read again. So nothing goes without need.",
                "Élaguer coûte : ce qui suit le trou est relu. Donc rien ne part sans nécessité.",
            ),
        ),
        _case(
            Text("a pair isn't torn", "une paire n'est pas déchirée"),
            PAIRS,
            5,
            ["call 3", "result 3"],
            Text(
                "A result without its call is a text from nowhere. Better to leave a place empty.",
                "Un résultat sans son appel est un texte venu de nulle part. Mieux vaut laisser "
                "une place vide.",
            ),
        ),
        _case(
            Text("a call with two results", "un appel avec deux résultats"),
            ["call 1", "result 1", "call 2", "result 2a", "result 2b", "answer 2"],
            6,
            ["call 2", "result 2a", "result 2b", "answer 2"],
            Text(
                "A turn can hold several calls: all their results belong to it.",
                "Un tour peut contenir plusieurs appels : tous leurs résultats vont avec lui.",
            ),
        ),
        _case(
            Text("a group that doesn't fit is the end", "un groupe qui ne rentre pas est la fin"),
            THREE,
            5,
            ["answer 2"],
            Text(
                "With a gap in the middle, the model would read a conversation that never was.",
                "Avec un trou au milieu, le modèle lirait une conversation qui n'a jamais eu lieu.",
            ),
        ),
        _case(
            Text("a request in between", "une demande au milieu"),
            ["call 1", "result 1", "answer 1", "request 2", "call 2", "result 2"],
            5,
            ["request 2", "call 2", "result 2"],
            Text(
                "What a user says stands by itself: it needs no message before it.",
                "Ce que dit un utilisateur se suffit : il n'y faut pas de message avant.",
            ),
        ),
        _case(
            Text("a limit below 2", "une limite inférieure à 2"),
            PAIRS,
            1,
            [],
            _WHY_FIXED,
        ),
        _case(_NO_ROOM, PAIRS, 2, [], _WHY_FIXED, hidden=True),
        _case(_NO_ROOM, ["call 1", "result 1a", "result 1b"], 4, [], _WHY_FIXED, hidden=True),
        _case(_FITS, PAIRS, 8, PAIRS, _WHY_FITS, hidden=True),
        _case(_FITS, PAIRS, 7, PAIRS[2:], _WHY_FITS, hidden=True),
        _case(
            Text("the same messages again", "les mêmes messages à nouveau"),
            ["call 1", "result 1", "request 1", "call 1", "result 1", "request 1", "answer 1"],
            6,
            ["call 1", "result 1", "request 1", "answer 1"],
            Text(
                "Models repeat themselves. A message is known by its place, not by its words.",
                "Les modèles se répètent. Un message se reconnaît à sa place, pas à ses mots.",
            ),
            hidden=True,
        ),
        _case(
            Text("a long conversation", "une longue conversation"),
            LONG,
            11,
            LONG[7:],
            Text(
                "Each kind of message in one history, as in a real run.",
                "Chaque sorte de message dans un historique, comme dans une vraie exécution.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "`messages[:2]` always stays. Make groups of the rest: which roles begin a group, and "
            "which one only goes on with it?",
            "`messages[:2]` reste toujours. Fais des groupes du reste : quels rôles commencent un "
            "groupe, et lequel ne fait que le continuer ?",
        ),
        Text(
            "A `tool` message goes into the last group, any other one begins a new group. Then go "
            "over `reversed(groups)`: as long as a group fits into what is left of "
            "`max_messages - 2`, put it before those that you keep; else `break`.",
            "Un message `tool` va dans le dernier groupe, tout autre en commence un nouveau. Puis "
            "parcours `reversed(groups)` : tant qu'un groupe rentre dans ce qui reste de "
            "`max_messages - 2`, mets-le avant ceux que tu gardes ; sinon `break`.",
        ),
        Text(
            "It also works without lists of groups. What stays of the rest is "
            "`messages[start:]`, with `start = max(2, len(messages) - (max_messages - 2))` as in "
            "the tutorials' slice. As long as `messages[start]` is a `tool` message, its group is "
            "torn: move `start` on by 1. Mind the end of the list.",
            "Cela marche aussi sans listes de groupes. Ce qu'on garde du reste est "
            "`messages[start:]`, avec `start = max(2, len(messages) - (max_messages - 2))` comme "
            "dans la tranche des tutoriels. Tant que `messages[start]` est un message `tool`, son "
            "groupe est déchiré : avance `start` de 1. Attention à la fin de la liste.",
        ),
    ),
    wrong=(
        Wrong(
            "the slice of the tutorials",
            """
def prune_history(messages, max_messages):
    if len(messages) <= max_messages:
        return list(messages)
    rest = messages[2:]
    return messages[:2] + rest[len(rest) - max(0, max_messages - 2) :]
""",
            Text(
                "Your slice cuts through groups: what it leaves can begin with a result whose call "
                "is gone. Take out a call with all its results.",
                "Ta tranche coupe au milieu des groupes : ce qu'elle laisse peut commencer par un "
                "résultat dont l'appel est parti. Retire un appel avec tous ses résultats.",
            ),
        ),
        Wrong(
            "the slice from -0",
            """
def prune_history(messages, max_messages):
    if len(messages) <= max_messages:
        return list(messages)
    rest = messages[-max(0, max_messages - 2) :]
    while rest and rest[0]["role"] == "tool":
        rest = rest[1:]
    return messages[:2] + rest
""",
            Text(
                "With no room left you take `messages[-0:]`, and that's the whole list. Count from "
                "the front: `messages[len(messages) - room:]`.",
                "S'il n'y a plus de place, tu prends `messages[-0:]`, et c'est toute la liste. "
                "Compte depuis le début : `messages[len(messages) - place:]`.",
            ),
        ),
        Wrong(
            "pairs of two",
            """
def prune_history(messages, max_messages):
    if len(messages) <= max_messages:
        return list(messages)
    start = len(messages)
    while start - 2 >= 2 and 2 + len(messages) - (start - 2) <= max_messages:
        start -= 2
    return messages[:2] + messages[start:]
""",
            Text(
                "You take messages out two at a time. A call may have several results, and an "
                "answer none: look at the roles.",
                "Tu retires les messages deux par deux. Un appel peut avoir plusieurs résultats, "
                "et une réponse aucun : regarde les rôles.",
            ),
        ),
        Wrong(
            "the first two aren't counted",
            """
def prune_history(messages, max_messages):
    start = max(2, len(messages) - max(0, max_messages))
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return messages[:2] + messages[start:]
""",
            Text(
                "You return up to two messages too many: the system message and the task count, so "
                "for the rest there is room for `max_messages - 2`.",
                "Tu renvoies jusqu'à deux messages de trop : le message système et la tâche "
                "comptent, il reste donc de la place pour `max_messages - 2`.",
            ),
        ),
        Wrong(
            "the task goes too",
            """
def prune_history(messages, max_messages):
    start = max(1, len(messages) - max(0, max_messages - 1))
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return messages[:1] + messages[start:]
""",
            Text(
                "You keep only the system message for good. The task, `messages[1]`, stays too: "
                "without it the model forgets what it was asked.",
                "Tu ne gardes à coup sûr que le message système. La tâche, `messages[1]`, reste "
                "aussi : sans elle, le modèle oublie ce qu'on lui a demandé.",
            ),
        ),
        Wrong(
            "the first two go as well",
            """
def prune_history(messages, max_messages):
    if max_messages < 2:
        return messages[: max(0, max_messages)]
    start = max(2, len(messages) - (max_messages - 2))
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return messages[:2] + messages[start:]
""",
            Text(
                "Below 2 you cut off the task, or even the system message. These two stay, "
                "whatever the limit is.",
                "Sous 2, tu coupes la tâche, voire le message système. Ces deux-là restent, "
                "quelle que soit la limite.",
            ),
        ),
        Wrong(
            "the oldest stay",
            """
def prune_history(messages, max_messages):
    groups = []
    for message in messages[2:]:
        if message["role"] == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    kept = messages[:2]
    for group in groups:
        if len(kept) + len(group) > max_messages:
            break
        kept = kept + group
    return kept
""",
            Text(
                "You keep the oldest groups. The model is at the end of the conversation, and "
                "needs the newest ones: go over `reversed(groups)`.",
                "Tu gardes les groupes les plus anciens. Le modèle est à la fin de la "
                "conversation, il a besoin des plus récents : parcours `reversed(groups)`.",
            ),
        ),
        Wrong(
            "newest first in the list",
            """
def prune_history(messages, max_messages):
    groups = []
    for message in messages[2:]:
        if message["role"] == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    kept = messages[:2]
    for group in reversed(groups):
        if len(kept) + len(group) > max_messages:
            break
        kept = kept + group
    return kept
""",
            Text(
                "You take the right groups and put them down in the wrong order. Put each one "
                "before those that you have: `kept = group + kept`.",
                "Tu prends les bons groupes et tu les poses dans le mauvais ordre. Mets chacun "
                "avant ceux que tu as déjà : `kept = group + kept`.",
            ),
        ),
        Wrong(
            "goes on behind a gap",
            """
def prune_history(messages, max_messages):
    groups = []
    for message in messages[2:]:
        if message["role"] == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    kept = []
    for group in reversed(groups):
        if 2 + len(group) + len(kept) <= max_messages:
            kept = group + kept
    return messages[:2] + kept
""",
            Text(
                "You skip a group that doesn't fit, and keep older ones. Stop there: `break`.",
                "Tu sautes un groupe qui ne rentre pas, et tu en gardes de plus anciens. "
                "Arrête-toi là : `break`.",
            ),
        ),
        Wrong(
            "groups are counted, not messages",
            """
def prune_history(messages, max_messages):
    groups = []
    for message in messages[2:]:
        if message["role"] == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    start = max(0, len(groups) - max(0, max_messages - 2))
    return messages[:2] + sum(groups[start:], [])
""",
            Text(
                "You keep `max_messages - 2` groups, but the limit counts messages: add up "
                "`len(group)`.",
                "Tu gardes `max_messages - 2` groupes, mais la limite compte les messages : "
                "additionne les `len(group)`.",
            ),
        ),
        Wrong(
            "the list itself is changed",
            """
def prune_history(messages, max_messages):
    start = max(2, len(messages) - (max_messages - 2))
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    del messages[2:start]
    return messages
""",
            Text(
                "You take messages out of the list that you were given, and whoever keeps the "
                "whole history has lost it. Make a new list: `messages[:2] + messages[start:]`.",
                "Tu retires des messages de la liste reçue, et qui garde l'historique entier l'a "
                "perdu. Fais une nouvelle liste : `messages[:2] + messages[start:]`.",
            ),
        ),
    ),
    solution=prune_history,
    explanation=Text(
        "The tutorials' slice, and one loop more: a tail of the history may begin with any message "
        "but a result. `prune` does the same with a prompt's turns, and counts tokens, since one "
        "page can be longer than a hundred messages; it keeps the last pair whatever its length. "
        "What this doesn't say is when: all that follows the gap is read again, so drop much, and "
        "seldom.",
        "La tranche des tutoriels, et une boucle de plus : une fin d'historique peut commencer par "
        "tout message sauf un résultat. `prune` fait de même avec les tours d'un prompt, et compte "
        "des tokens, car une seule page peut être plus longue que cent messages ; il garde la "
        "dernière paire quelle que soit sa longueur. Ce que cela ne dit pas, c'est quand : tout "
        "ce qui suit le trou est relu, donc retire beaucoup, et rarement.",
    ),
)
