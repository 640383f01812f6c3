"""The exercise of lesson 2: turns become the one ChatML string."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..chatml import IM_END, IM_START
from .task import Case, Task, Text, Wrong


def build_prompt(turns: Iterable[Mapping[str, str]]) -> str:
    r"""Writes the turns as ChatML and opens the assistant's turn for the model to go on from.

    >>> build_prompt([{"role": "user", "content": "Hello!"}])
    '<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n'
    """
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n"
    return prompt + "<|im_start|>assistant\n"


def _turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


OPEN = f"{IM_START}assistant\n"
QUESTION = "What is the capital of France?"
SYSTEM = "You are a helpful assistant."
CALL = '{"tool_call": {"name": "get_weather", "arguments": {"city": "Tokyo"}}}'
RESULT = '{"temperature": 21, "sky": "clear"}'
CODE = "\n  def f():\n      return 1\n\n "
SIGNS = "100 % of {this} and {{that}}, 50 %s, C:\\new, 1 < 2 & \"3\" > '2'"

TASK = Task(
    name="build_prompt",
    lesson=2,
    title=Text("Build the prompt", "Construire le prompt"),
    statement=Text(
        'Write `build_prompt(turns)`. `turns` is a list of `{"role": …, "content": …}`, two texts '
        "each. Return the ChatML string as in the lesson: each turn, in the order of the list, is "
        "`<|im_start|>`, the role, a newline, the content exactly as it is (also if it's empty), "
        "`<|im_end|>` and a newline. The string always ends with the open turn, "
        "`<|im_start|>assistant` and a newline, whatever comes before, even nothing. Add nothing "
        "else.",
        'Écris `build_prompt(turns)`. `turns` est une liste de `{"role": …, "content": …}`, deux '
        "textes à chaque fois. Renvoie la chaîne ChatML comme dans la leçon : chaque tour, dans "
        "l'ordre de la liste, est `<|im_start|>`, le rôle, un saut de ligne, le contenu exactement "
        "tel quel (même vide), `<|im_end|>` et un saut de ligne. La chaîne finit toujours par le "
        "tour ouvert, `<|im_start|>assistant` et un saut de ligne, quoi qu'il y ait avant, même "
        "rien. N'ajoute rien d'autre.",
    ),
    stub="def build_prompt(turns):\n    pass",
    cases=(
        Case(
            Text("one question", "une question"),
            {"turns": [_turn("user", QUESTION)]},
            f"{IM_START}user\n{QUESTION}{IM_END}\n{OPEN}",
            Text(
                "The user's turn is closed and the assistant's is open: what could the model "
                "possibly write next?",
                "Le tour de l'utilisateur est fermé, celui de l'assistant est ouvert : que "
                "pourrait bien écrire le modèle ensuite ?",
            ),
        ),
        Case(
            Text("a system turn first", "un tour système d'abord"),
            {"turns": [_turn("system", SYSTEM), _turn("user", QUESTION)]},
            f"{IM_START}system\n{SYSTEM}{IM_END}\n{IM_START}user\n{QUESTION}{IM_END}\n{OPEN}",
            Text(
                "System and user aren't different channels, but pieces of one string.",
                "Système et utilisateur ne sont pas des canaux différents, mais des morceaux "
                "d'une seule chaîne.",
            ),
        ),
        Case(
            Text("a conversation that goes on", "une conversation qui continue"),
            {
                "turns": [
                    _turn("user", QUESTION),
                    _turn("assistant", "Paris."),
                    _turn("user", "And of Spain?"),
                ]
            },
            f"{IM_START}user\n{QUESTION}{IM_END}\n{OPEN}Paris.{IM_END}\n"
            f"{IM_START}user\nAnd of Spain?{IM_END}\n{OPEN}",
            Text(
                "The model has no memory: its own answers are sent back to it, as closed turns.",
                "Le modèle n'a pas de mémoire : on lui renvoie ses propres réponses, en tours "
                "fermés.",
            ),
        ),
        Case(
            Text("a tool's result", "le résultat d'un outil"),
            {"turns": [_turn("user", "Rain?"), _turn("assistant", CALL), _turn("tool", RESULT)]},
            f"{IM_START}user\nRain?{IM_END}\n{OPEN}{CALL}{IM_END}\n"
            f"{IM_START}tool\n{RESULT}{IM_END}\n{OPEN}",
            Text(
                "A role is just a word after a marker: a tool's turn is written like any other.",
                "Un rôle n'est qu'un mot après un marqueur : le tour d'un outil s'écrit comme "
                "les autres.",
            ),
        ),
        Case(
            Text("blanks and newlines in a content", "espaces et sauts de ligne d'un contenu"),
            {"turns": [_turn("user", CODE)]},
            f"{IM_START}user\n{CODE}{IM_END}\n{OPEN}",
            Text(
                "In code, in a poem, in a file, blanks matter; the content is somebody else's.",
                "Dans du code, un poème, un fichier, les espaces comptent ; le contenu est à "
                "quelqu'un d'autre.",
            ),
        ),
        Case(
            Text("no turn at all", "aucun tour"),
            {"turns": []},
            OPEN,
            Text(
                "The open turn doesn't depend on what stands before it.",
                "Le tour ouvert ne dépend pas de ce qui le précède.",
            ),
        ),
        Case(
            Text("an empty content", "un contenu vide"),
            {"turns": [_turn("system", ""), _turn("user", QUESTION), _turn("tool", "")]},
            f"{IM_START}system\n{IM_END}\n{IM_START}user\n{QUESTION}{IM_END}\n"
            f"{IM_START}tool\n{IM_END}\n{OPEN}",
            Text(
                "A tool that returns an empty text has answered. Without its turn the model waits "
                "for a result, or makes one up.",
                "Un outil qui renvoie un texte vide a répondu. Sans ce tour, le modèle attend un "
                "résultat, ou en invente un.",
            ),
            hidden=True,
        ),
        Case(
            Text("accents and other alphabets", "accents et autres alphabets"),
            {"turns": [_turn("user", "Où boire un café à 東京 ? ☕ 👩‍🍳")]},
            f"{IM_START}user\nOù boire un café à 東京 ? ☕ 👩‍🍳{IM_END}\n{OPEN}",
            Text(
                "What a user wrote must reach the model as it was written.",
                "Ce qu'a écrit l'utilisateur doit arriver intact au modèle.",
            ),
            hidden=True,
        ),
        Case(
            Text("signs that mean something to Python", "des signes qui ont un sens en Python"),
            {"turns": [_turn("user", SIGNS)]},
            f"{IM_START}user\n{SIGNS}{IM_END}\n{OPEN}",
            Text(
                "To ChatML, braces, per cent signs and backslashes are text.",
                "Pour ChatML, les accolades, les signes pour cent et les barres obliques inverses "
                "sont du texte.",
            ),
            hidden=True,
        ),
        Case(
            Text("the assistant spoke last", "l'assistant a parlé en dernier"),
            {"turns": [_turn("user", "Hello!"), _turn("assistant", "Hello! One moment.")]},
            f"{IM_START}user\nHello!{IM_END}\n{OPEN}Hello! One moment.{IM_END}\n{OPEN}",
            Text(
                "A turn in the list is over. For the model to write, there must be a new one.",
                "Un tour de la liste est terminé. Pour que le modèle écrive, il en faut un "
                "nouveau.",
            ),
            hidden=True,
        ),
        Case(
            Text("turns in an unusual order", "des tours dans un ordre inhabituel"),
            {
                "turns": [
                    _turn("user", "One."),
                    _turn("user", "Two."),
                    _turn("system", "Be brief."),
                    _turn("user", "One."),
                ]
            },
            f"{IM_START}user\nOne.{IM_END}\n{IM_START}user\nTwo.{IM_END}\n"
            f"{IM_START}system\nBe brief.{IM_END}\n{IM_START}user\nOne.{IM_END}\n{OPEN}",
            Text(
                "The prompt says what was said, in the order in which it was said.",
                "Le prompt dit ce qui a été dit, dans l'ordre où cela a été dit.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "Write the string for one turn first. Which characters does the format demand, and "
            "which are the turn's?",
            "Écris d'abord la chaîne d'un seul tour. Quels caractères demande le format, et "
            "lesquels sont ceux du tour ?",
        ),
        Text(
            "Each turn has two newlines of the format: one after the role, one after "
            "`<|im_end|>`. The open turn has the first one only, and no `<|im_end|>`.",
            "Chaque tour a deux sauts de ligne du format : un après le rôle, un après "
            "`<|im_end|>`. Le tour ouvert n'a que le premier, et pas de `<|im_end|>`.",
        ),
        Text(
            "For each turn, append `f\"<|im_start|>{turn['role']}\\n{turn['content']}"
            '<|im_end|>\\n"`. After the loop, append `"<|im_start|>assistant\\n"`.',
            "Pour chaque tour, ajoute `f\"<|im_start|>{turn['role']}\\n{turn['content']}"
            '<|im_end|>\\n"`. Après la boucle, ajoute `"<|im_start|>assistant\\n"`.',
        ),
    ),
    wrong=(
        Wrong(
            "no newline behind a turn",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "After `<|im_end|>` there's a newline, which you leave out. The model has always "
                "seen it there.",
                "Après `<|im_end|>`, il y a un saut de ligne, que tu oublies. Le modèle l'y a "
                "toujours vu.",
            ),
        ),
        Wrong(
            "no open turn",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt
""",
            Text(
                "All turns are closed, so the model may open any: it could speak for the user. "
                "End with `<|im_start|>assistant` and a newline.",
                "Tous les tours sont fermés, et le modèle peut ouvrir n'importe lequel : il "
                "pourrait parler à la place de l'utilisateur. Finis par `<|im_start|>assistant` "
                "et un saut de ligne.",
            ),
        ),
        Wrong(
            "the open turn has no newline",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt + "<|im_start|>assistant"
""",
            Text(
                "The newline after the last `assistant` belongs to the format. Without it, the "
                "model has to write it first.",
                "Le saut de ligne après le dernier `assistant` fait partie du format. Sans lui, "
                "le modèle doit d'abord l'écrire.",
            ),
        ),
        Wrong(
            "the open turn is closed",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns + [{"role": "assistant", "content": ""}]:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt
""",
            Text(
                "You close the last turn: it says that the assistant has answered nothing. Leave "
                "it open, without `<|im_end|>`.",
                "Tu fermes le dernier tour : il dit que l'assistant n'a rien répondu. Laisse-le "
                "ouvert, sans `<|im_end|>`.",
            ),
        ),
        Wrong(
            "a content is stripped",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content'].strip()}<|im_end|>\\n"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "`strip` takes away blanks and newlines that belong to the content. Leave it as "
                "it is.",
                "`strip` enlève des espaces et des sauts de ligne qui font partie du contenu. "
                "Laisse-le tel quel.",
            ),
        ),
        Wrong(
            "a newline in front of the end marker",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}\\n<|im_end|>\\n"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "`<|im_end|>` comes directly after the content. Your newline in front of it "
                "would be a part of the content.",
                "`<|im_end|>` suit directement le contenu. Ton saut de ligne devant ferait partie "
                "du contenu.",
            ),
        ),
        Wrong(
            "empty turns are left out",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        if turn["content"]:
            prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "A turn with an empty content is a turn: write it too.",
                "Un tour au contenu vide est un tour : écris-le aussi.",
            ),
        ),
        Wrong(
            "knows three roles only",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        if turn["role"] in ("system", "user", "assistant"):
            prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "You leave out the turns of the role `tool`, so the model never sees a result. "
                "Write each turn with the role that it has.",
                "Tu oublies les tours du rôle `tool`, et le modèle ne voit jamais de résultat. "
                "Écris chaque tour avec le rôle qu'il a.",
            ),
        ),
        Wrong(
            "a system turn of its own",
            """
def build_prompt(turns):
    prompt = ""
    if not any(turn["role"] == "system" for turn in turns):
        prompt = "<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n"
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    return prompt + "<|im_start|>assistant\\n"
""",
            Text(
                "You add a system turn where there is none. The model's own template does that "
                "too, but here only what is in `turns` counts.",
                "Tu ajoutes un tour système quand il n'y en a pas. Le template du modèle le fait "
                "aussi, mais ici seul compte ce qui est dans `turns`.",
            ),
        ),
        Wrong(
            "no new turn after the assistant's",
            """
def build_prompt(turns):
    prompt = ""
    for turn in turns:
        prompt += f"<|im_start|>{turn['role']}\\n{turn['content']}<|im_end|>\\n"
    if not turns or turns[-1]["role"] != "assistant":
        prompt += "<|im_start|>assistant\\n"
    return prompt
""",
            Text(
                "After an assistant's turn you open no new one. The string always ends with an "
                "open turn.",
                "Après un tour de l'assistant, tu n'en ouvres pas de nouveau. La chaîne finit "
                "toujours par un tour ouvert.",
            ),
        ),
    ),
    solution=build_prompt,
    explanation=Text(
        "A chat is one string, and yours is, character by character, the `text` of a `Prompt` with "
        "the same turns. What the string can't say is which markers are real: a content with "
        "`<|im_end|>` in it would close its own turn. That's why `Prompt` keeps who wrote what, "
        "and tokenises structure and content separately.",
        "Une conversation est une seule chaîne, et la tienne est, caractère par caractère, le "
        "`text` d'un `Prompt` qui a les mêmes tours. Ce que la chaîne ne peut pas dire, c'est "
        "quels marqueurs sont vrais : un contenu où il y a `<|im_end|>` fermerait son propre tour. "
        "C'est pourquoi `Prompt` garde qui a écrit quoi, et tokenise séparément la structure et le "
        "contenu.",
    ),
)
