"""Makes the training conversations: seeded, synthetic, from this project's own sentences.

`python training/make_data.py data.jsonl --packs 700`. A line is a *pack*: one system prompt with
some tools, and several independent exchanges that share it (training reads the system prompt once).
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from tools import FAMILIES, Family
from values import ENUMS, TYPES, draw

CALL = '{"tool_call": {"name": "<tool_name>", "arguments": {...}}}'
SYSTEMS = (  # the course's prompts: lesson 3's, the agent's, and the same in French
    "You are a helpful assistant.\n\nAvailable tools:\n{tools}\n\nTo use a tool, reply with {call}.\n"
    "When a tool has given its result, answer the user with this result, in a sentence.",
    "You are a helpful assistant. You have access to the following tools.\nWhen you need a tool, "
    "reply ONLY with a JSON block like this:\n{call}\n\nAvailable tools:\n{tools}",
    "Tu es un assistant utile. Tu as accès aux outils suivants.\nQuand tu as besoin d'un outil, réponds "
    "UNIQUEMENT avec un bloc JSON comme ceci :\n{call}\n\nOutils disponibles :\n{tools}",
    "You are an autonomous agent with these tools:\n{tools}\n\nTo call a tool, reply only with:\n{call}\n"
    "When the task is done, answer the user directly, without JSON.",
)
POLITE = {
    "en": ("{}", "{}", "{}", "Please help: {}", "Hi! {}", "{} Thanks!", "I'd like to know: {}"),
    "fr": (
        "{}",
        "{}",
        "{}",
        "Aide-moi : {}",
        "Bonjour ! {}",
        "{} Merci !",
        "J'aimerais savoir : {}",
    ),
}
SMALL_TALK = {
    "en": (
        ("Hello!", "Hello! How can I help you?"),
        ("Thank you.", "You're welcome!"),
        ("Who are you?", "I'm an assistant that can use a few tools."),
        ("What is the capital of Spain?", "The capital of Spain is Madrid."),
        ("Who wrote Hamlet?", "Hamlet was written by William Shakespeare."),
        ("Tell me a short joke.", "Why did the bicycle fall over? It was two-tired."),
        ("What colour is grass?", "Grass is green."),
        (
            "I love rainy weather.",
            "Rain can be very calming. What do you like to do on rainy days?",
        ),
        (
            "Explain what a calendar is.",
            "A calendar is a way to keep track of days, weeks and months.",
        ),
        ("What does an email address look like?", "It has a name, an @ sign and a domain."),
        ("Why is the sky blue?", "Air scatters blue light more than red light."),
        ("How many legs does a spider have?", "A spider has eight legs."),
        ("Is a tomato a fruit?", "Yes, botanically a tomato is a fruit."),
        ("I flew to Rome last year.", "That sounds lovely. What did you like best in Rome?"),
        ("My timer is broken.", "I'm sorry to hear that. Is it a kitchen timer?"),
        ("Good night.", "Good night, sleep well!"),
    ),
    "fr": (
        ("Bonjour !", "Bonjour ! Comment puis-je vous aider ?"),
        ("Merci.", "Avec plaisir !"),
        ("Qui es-tu ?", "Je suis un assistant qui sait utiliser quelques outils."),
        ("Quelle est la capitale de l'Espagne ?", "La capitale de l'Espagne est Madrid."),
        ("Qui a écrit Les Misérables ?", "Les Misérables est un roman de Victor Hugo."),
        ("De quelle couleur est l'herbe ?", "L'herbe est verte."),
        ("J'adore la pluie.", "La pluie peut être apaisante. Que faites-vous quand il pleut ?"),
        ("Explique ce qu'est un agenda.", "Un agenda sert à noter ses rendez-vous."),
        ("Pourquoi le ciel est-il bleu ?", "L'air diffuse davantage la lumière bleue."),
        ("Combien de pattes a une araignée ?", "Une araignée a huit pattes."),
        ("J'ai pris l'avion pour Rome l'an dernier.", "Quel beau voyage ! Qu'avez-vous préféré ?"),
        ("Bonne nuit.", "Bonne nuit, dormez bien !"),
    ),
}
UNABLE = {
    "en": "I have no tool for that, so I can't tell.",
    "fr": "Je n'ai pas d'outil pour cela, je ne peux donc pas le dire.",
}
MISSING = {"en": "Which {} do you mean?", "fr": "Il me manque une information : {} ?"}
FAILED = {
    "en": "I'm sorry, the tool gave an error: {}",
    "fr": "Désolé, l'outil a renvoyé une erreur : {}",
}

Turn = tuple[str, str]


class Tool:
    """A family in one conversation's dress: the names it goes by there."""

    def __init__(self, family: Family, rng: random.Random) -> None:
        self.family = family
        self.name = rng.choice(family.names.split())
        self.arguments = {
            slot: rng.choice(argument.names.split()) for slot, argument in family.arguments.items()
        }

    def schema(self) -> dict[str, Any]:
        properties = {}
        for slot, argument in self.family.arguments.items():
            kind = {"type": TYPES.get(argument.pool, "string")}
            if argument.pool in ENUMS:
                kind |= {"enum": ENUMS[argument.pool]}  # type: ignore[dict-item]
            properties[self.arguments[slot]] = kind | {"description": argument.description}
        required = [self.arguments[s] for s, a in self.family.arguments.items() if a.required]
        parameters = {"type": "object", "properties": properties, "required": required}
        function = {
            "name": self.name,
            "description": self.family.description,
            "parameters": parameters,
        }
        return {"type": "function", "function": function}

    def request(self, language: str, rng: random.Random) -> tuple[str, str, dict[str, str]]:
        """What is asked, the call as text, and the values that were named."""
        sentence = rng.choice(self.family.en if language == "en" else self.family.fr)
        said: dict[str, str] = {}
        arguments: dict[str, Any] = {}
        for slot, argument in self.family.arguments.items():
            text, value = draw(argument.pool, language, rng)
            said[slot] = text
            if "{" + slot + "}" in sentence:
                arguments[self.arguments[slot]] = value
        call = {"tool_call": {"name": self.name, "arguments": arguments}}
        return sentence.format(**said), json.dumps(call, ensure_ascii=False), said

    def outcome(self, said: dict[str, str], language: str, rng: random.Random) -> tuple[str, str]:
        """What the tool returns, and the answer made of it."""
        family = self.family
        pools = ["degrees", "sky", "clock", "date", "number", "url", "topic", "title", "title2", "phrase", "path", "path2", "person", "year", "small", "small2", "phone", "id", "code", "city"]  # fmt: skip
        values = {pool: draw(pool, language, rng)[0] for pool in pools} | said
        answer = family.answer_en if language == "en" else family.answer_fr
        return family.result.format(**values), answer.format(**values)


def exchange(tools: list[Tool], language: str, rng: random.Random) -> dict[str, Any]:
    """One exchange under these tools, of a kind drawn at random."""
    kind = rng.choices(["call", "talk", "two", "unable", "error", "missing"], [52, 22, 8, 8, 6, 4])[
        0
    ]
    tool = rng.choice(tools)
    request, call, said = tool.request(language, rng)
    asked = rng.choice(POLITE[language]).format(request)
    result, answer = tool.outcome(said, language, rng)
    turns: list[Turn]
    if kind == "talk":
        question, reply = rng.choice(SMALL_TALK[language])
        turns = [("user", question), ("assistant", reply)]
    elif kind == "unable":
        others = [family for family in FAMILIES if family not in [t.family for t in tools]]
        foreign = Tool(rng.choice(others), rng).request(language, rng)[0]
        turns = [("user", foreign), ("assistant", UNABLE[language])]
    elif kind == "missing" and said and "{" in tool.family.en[0]:
        slot = next(iter(said))
        vague = (
            f"{tool.family.description.rstrip('.')}, please."
            if language == "en"
            else (f"Utilise {tool.name}, s'il te plaît.")
        )
        name = tool.arguments[slot].replace("_", " ")
        turns = [("user", vague), ("assistant", MISSING[language].format(name))]
    elif kind == "error":
        reason = rng.choice(["service not reachable", "not found", "timed out after 10 s"])
        turns = [
            ("user", asked), ("assistant", call), ("tool", f"Error: {reason}"),
            ("assistant", FAILED[language].format(reason)),
        ]  # fmt: skip
    elif kind == "two" and len(tools) > 1:
        other = rng.choice([t for t in tools if t is not tool])
        request2, call2, said2 = other.request(language, rng)
        result2, answer2 = other.outcome(said2, language, rng)
        joint = " And " if language == "en" else " Et aussi : "
        turns = [
            ("user", request + joint + request2), ("assistant", call), ("tool", result),
            ("assistant", call2), ("tool", result2), ("assistant", f"{answer} {answer2}"),
        ]  # fmt: skip
    else:
        turns = [("user", asked), ("assistant", call), ("tool", result), ("assistant", answer)]
    return {"kind": kind, "language": language, "turns": turns}


def pack(rng: random.Random, exchanges: int) -> dict[str, Any]:
    """A system prompt with one to five tools, and exchanges under it, a third of them in French."""
    tools = [Tool(family, rng) for family in rng.sample(FAMILIES, rng.randint(1, 5))]
    schemas = [tool.schema() for tool in tools]
    indent = rng.choice([None, None, None, 2])
    text = json.dumps(schemas, ensure_ascii=False, indent=indent)
    system = rng.choice(SYSTEMS).replace("{tools}", text).replace("{call}", CALL)
    languages = ["fr" if rng.random() < 0.4 else "en" for _ in range(exchanges)]
    return {"system": system, "exchanges": [exchange(tools, lang, rng) for lang in languages]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--packs", type=int, default=700)
    parser.add_argument("--exchanges", type=int, default=6, help="in each pack")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with options.out.open("w", encoding="utf-8") as file:
        for _ in range(options.packs):
            file.write(json.dumps(pack(rng, options.exchanges), ensure_ascii=False) + "\n")
    print(f"{options.packs} packs of {options.exchanges} exchanges in {options.out}")


if __name__ == "__main__":
    main()
