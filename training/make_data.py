"""Makes the training conversations: seeded, synthetic, from this project's own sentences.

`python training/make_data.py data.jsonl --packs 2000`. A line is a *pack*: one system prompt with
one to six tools, and several independent exchanges that share it (training reads it once).
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from values import TYPES, draw

from toolcall_lab.agent import SYSTEM
from toolcall_lab.shapes import CALL_KEY

HERE = Path(__file__).parent
CALL = f'{{"{CALL_KEY}": {{"name": "<tool_name>", "arguments": {{...}}}}}}'
SYSTEMS = (  # the agent's prompt, half of the time; lesson 3's; others like them, in both languages
    SYSTEM,
    SYSTEM,
    SYSTEM,
    "You are a helpful assistant. You have access to the following tools.\nWhen you need a tool, "
    "reply ONLY with a JSON block like this:\n{call}\n\nAvailable tools:\n{tools}",
    "You are an autonomous agent with these tools:\n{tools}\n\nTo call a tool, reply only with:\n{call}\n"
    "When the task is done, answer the user directly, without JSON.",
    "Tu es un assistant utile.\n\nOutils disponibles :\n{tools}\n\nPour utiliser un outil, réponds par {call}.\n"
    "Quand un outil a donné son résultat, réponds à l'utilisateur avec ce résultat, en une phrase.",
)
KINDS = {  # of exchanges, and how often
    "call": 50, "talk": 8, "near": 10, "two": 14, "chain": 8, "unable": 2, "error": 2, "corrected": 3,
    "missing": 3,
}  # fmt: skip
FRENCH = 0.6  # of the exchanges: the plain model knows less French, so it gets more of it
FRAMES = {  # around a request, as people do
    "en": ("Please: {}", "Hi! {}", "{} Thanks!", "Hello, {}", "One more thing. {}", "{} It's urgent.", "Hey, quick one: {}"),
    "fr": ("S'il te plaît : {}", "Bonjour ! {}", "{} Merci !", "Salut, {}", "Autre chose. {}", "{} C'est urgent.", "Dites, {}"),
}  # fmt: skip
JOINTS = {
    "en": ("{} And also: {}", "{} {}", "Two things: {} {}", "{} Then: {}", "{} After that, {}", "First: {} Second: {}"),
    "fr": ("{} Et aussi : {}", "{} {}", "Deux choses : {} {}", "{} Puis : {}", "{} Ensuite, {}", "D'abord : {} Puis : {}"),
}  # fmt: skip
THEN = {"en": ("{}, then {}", "{} and {}", "{}. After that, {}"), "fr": ("{}, puis {}", "{} et {}", "{}. Ensuite, {}")}  # fmt: skip
BOTH = {  # of two pages that a search has found
    "en": ("read the first two pages", "open both links and tell me what they say", "look at the two results"),
    "fr": ("lis les deux premières pages", "ouvre les deux liens et dis-moi ce qu'ils disent", "regarde les deux résultats"),
}  # fmt: skip
UNABLE = {
    "en": ("I have no tool for that, so I can't do it.", "I'm sorry, none of my tools can do that."),
    "fr": ("Je n'ai pas d'outil pour cela, je ne peux donc pas le faire.", "Désolé, aucun de mes outils ne sait faire cela."),
}  # fmt: skip
REASONS = ("service not reachable", "timed out after 10 s", "not found", "permission denied", "no data", "quota used up")  # fmt: skip
FAILED = {
    "en": ("I'm sorry, the tool failed: {}.", "That didn't work, the tool says: {}."),
    "fr": ("Désolé, l'outil a échoué : {}.", "Cela n'a pas marché, l'outil répond : {}."),
}
UNKNOWN = ("Error: unknown value '{wrong}', did you mean '{right}'?", "Error: '{wrong}' not found. Closest match: {right}")  # fmt: skip
SPELLED = ("city", "person", "place", "product", "word", "artist", "film", "country", "company", "dish", "food", "team", "song", "app", "animal", "full_name")  # fmt: skip
WHOLE = "phrase"  # the pool that can be filled with whatever another tool has returned
SLOT = re.compile(r"\{(\w+)\}")

Turns = list[tuple[str, str]]


def fill(text: str, values: dict[str, str]) -> str:
    """The text with its slots filled; other braces stay."""
    return SLOT.sub(lambda match: values.get(match[1], match[0]), text)


@dataclass(frozen=True)
class Ability:
    """What a tool can do, and what people say when they need it; see `abilities/README.md`."""

    names: list[str]
    does: list[str]
    arguments: dict[str, dict[str, Any]]
    texts: dict[str, list[list[str]]]  # "en", "near_fr", … -> lines, each split at " | "

    @property
    def required(self) -> list[str]:
        return [slot for slot, entry in self.arguments.items() if not entry.get("optional")]


def lines_of(text: str | None) -> list[list[str]]:
    return [line.strip().split(" | ") for line in (text or "").splitlines() if line.strip()]


def read_abilities(text: str) -> list[Ability]:
    """The abilities in a YAML text."""
    found = []
    for entry in yaml.safe_load(text):
        does = [line[0] for key in ("does", "does", "does_fr") for line in lines_of(entry[key])]
        texts = {key: lines_of(value) for key, value in entry.items() if isinstance(value, str)}
        found.append(Ability(entry["names"].split(), does, entry["arguments"] or {}, texts))
    return found


def abilities() -> list[Ability]:
    """All abilities, from the files of `abilities/` in the order of their names."""
    files = sorted((HERE / "abilities").glob("*.yaml"))
    return [entry for file in files for entry in read_abilities(file.read_text(encoding="utf-8"))]


def talk() -> dict[str, list[list[str]]]:
    """Requests that need no tool, with an answer, by language."""
    texts = yaml.safe_load((HERE / "talk.yaml").read_text(encoding="utf-8"))
    return {language: lines_of(text) for language, text in texts.items()}


ABILITIES, TALK = abilities(), talk()


def respell(name: str, style: str, rng: random.Random) -> str:
    """A name in another spelling: camelCase, or with a word more."""
    if style == "camel":
        head, *rest = name.split("_")
        return head + "".join(word.capitalize() for word in rest)
    if style == "longer":
        return rng.choice(["{}_value", "the_{}", "{}_text", "input_{}", "{}_arg", "my_{}"]).format(
            name
        )
    return name


class Tool:
    """An ability in one conversation's dress: the names it goes by there."""

    def __init__(self, ability: Ability, style: str, rng: random.Random) -> None:
        self.ability = ability
        self.name = respell(rng.choice(ability.names), style if style == "camel" else "", rng)
        self.does = rng.choice(ability.does)
        self.language = rng.choice(["en", "en", "fr"])  # of the descriptions of the arguments
        self.arguments: dict[str, str] = {}
        for slot, entry in ability.arguments.items():
            longer = "longer" if style != "camel" and rng.random() < 0.15 else style
            free = [n for n in entry["names"].split() if n not in self.arguments.values()]
            self.arguments[slot] = respell(rng.choice(free or [slot]), longer, rng)

    def schema(self, rng: random.Random) -> dict[str, Any]:
        """In OpenAI's form; one in ten without descriptions, one in five with examples in them."""
        bare, examples = rng.random() < 0.1, rng.random() < 0.2
        properties = {}
        for slot, entry in self.ability.arguments.items():
            kind: dict[str, Any] = {"type": TYPES.get(entry["pool"], "string")}
            if kind["type"] == "array":
                kind["items"] = {"type": "string"}
            if entry["pool"] == "enum":
                kind["enum"] = entry["values"]
            if not bare:
                kind["description"] = entry[self.language]
            if examples and not bare and entry["pool"] != "enum":
                such = "for example" if self.language == "en" else "par exemple"
                text = draw(entry["pool"], self.language, rng)[0]
                kind["description"] += f", {such} {text}"
            properties[self.arguments[slot]] = kind
        required = [self.arguments[slot] for slot in self.ability.required]
        parameters = {"type": "object", "properties": properties, "required": required}
        function = {"name": self.name, "description": self.does, "parameters": parameters}
        return {"type": "function", "function": function}

    def call(self, values: dict[str, Any]) -> str:
        """The call as text, with its arguments in the order of the schema."""
        arguments = {name: values[slot] for slot, name in self.arguments.items() if slot in values}
        call = {CALL_KEY: {"name": self.name, "arguments": arguments}}
        return json.dumps(call, ensure_ascii=False)


class Request:
    """One use of a tool: what is said, what it's called with, what comes back, the answer."""

    def __init__(
        self, tool: Tool, language: str, rng: random.Random, order: list[str] | None = None
    ) -> None:
        ability = tool.ability
        self.tool = tool
        self.slot, sentence, *meant = order or ["", *rng.choice(ability.texts[language])]
        self.values: dict[str, Any] = {}
        said: dict[str, str] = {}
        for slot, entry in ability.arguments.items():
            if entry["pool"] == "enum":
                said[slot] = self.values[slot] = rng.choice(entry["values"])
            else:
                said[slot], self.values[slot] = draw(entry["pool"], language, rng)
        named = set(SLOT.findall(sentence))
        for fixed in meant:
            slot, _, value = fixed.partition("=")
            said[slot], self.values[slot.strip()] = value.strip(' "'), json.loads(value)
            named.add(slot.strip())
        self.values = {slot: value for slot, value in self.values.items() if slot in named}
        self.text = fill(sentence, said)
        self.said = said | {  # as the tool says it: numbers in digits
            slot: str(value) for slot, value in self.values.items() if type(value) in (int, float)
        }
        self.form = rng.choice(ability.texts["result"])[0]
        slots = set(SLOT.findall(self.form)) - set(ability.arguments)
        self.found = {pool: draw(pool, language, rng)[0] for pool in sorted(slots)}
        for pool in self.found:
            if pool in TYPES and TYPES[pool] != "array":
                self.found[pool] = str(draw(pool, "en", rng)[1])
        self.answer_form = rng.choice(ability.texts["answer_" + language])[0]

    def receive(self, value: str, number: Any = None) -> None:
        """Takes its open slot from what another tool has found."""
        self.said[self.slot] = value
        self.values[self.slot] = value if number is None else number

    @property
    def call(self) -> str:
        return self.tool.call(self.values)

    @property
    def result(self) -> str:
        return fill(self.form, self.said | self.found)

    @property
    def answer(self) -> str:
        answer = fill(self.answer_form, self.said | self.found)
        start = re.match(r"[^\W\d_]+(?=[ ,:'’-])", answer)  # a word, not the start of a path
        return answer[0].upper() + answer[1:] if start else answer

    def turns(self) -> Turns:
        return [("assistant", self.call), ("tool", self.result)]


def misspell(text: str, rng: random.Random) -> str:
    """The text with two letters swapped or one lost."""
    at = rng.randrange(1, len(text) - 1)
    if rng.random() < 0.5:
        return text[:at] + text[at + 1 :]
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def frame(text: str, language: str, rng: random.Random) -> str:
    """The request as people put it: with a greeting, without its full stop, in lower case."""
    draw_ = rng.random()
    if draw_ < 0.25:
        return rng.choice(FRAMES[language]).format(text)
    if draw_ < 0.35:
        return text.rstrip(" .?!")
    if draw_ < 0.4 and not re.search(r"[A-Z]", text[1:]):
        return text[0].lower() + text[1:]
    return text


def finds(ability: Ability) -> set[str]:
    """The sorts of values that a tool finds out: an address, a number, a name."""
    slots = set(SLOT.findall(ability.texts["result"][0][0])) - set(ability.arguments)
    return {slot.rstrip("2") for slot in slots}


def orders(first: Ability, second: Ability, language: str) -> list[list[str]]:
    """What can be asked of the second tool about what the first one has found."""
    found = finds(first)
    usable = found | ({WHOLE} if found and plain_results(first) else set())
    return [
        line
        for line in second.texts.get("then_" + language, [])
        if second.arguments[line[0]]["pool"].rstrip("2") in usable
    ]


def chains(among: list[Ability]) -> list[tuple[Ability, Ability]]:
    """Pairs of these, the second of which can work on what the first one finds."""
    return [
        (first, second)
        for first, second in itertools.permutations(among, 2)
        if orders(first, second, "en") and orders(first, second, "fr")
    ]


def plain_results(ability: Ability) -> list[str]:
    """The forms of its result that aren't JSON."""
    return [form for (form,) in ability.texts["result"] if form[0] not in "{["]


def follow(first: Request, tool: Tool, language: str, rng: random.Random) -> Request:
    """What is asked next, of what the first request has found."""
    order = rng.choice(orders(first.tool.ability, tool.ability, language))
    second = Request(tool, language, rng, order)
    pool = tool.ability.arguments[second.slot]["pool"].rstrip("2")
    for slot, value in first.found.items():
        if slot.rstrip("2") == pool:
            second.receive(value, json.loads(value) if pool in TYPES else None)
            return second
    first.form = rng.choice(plain_results(first.tool.ability))
    second.receive(first.result)
    return second


def chain(tools: list[Tool], language: str, rng: random.Random) -> Turns:
    """Two or three calls, each working on what the one before it has found."""
    tool_of = {id(tool.ability): tool for tool in tools}
    pairs = chains([tool.ability for tool in tools])
    one, other = rng.choice(pairs)
    first = Request(tool_of[id(one)], language, rng)
    opening = first.text.rstrip(" .?!")
    reads = {slot for slot, entry in other.arguments.items() if entry["pool"] == "url"}
    if "url" in first.found and reads and rng.random() < 0.4:
        return read_both(first, opening, tool_of[id(other)], language, rng)
    requests = [first, follow(first, tool_of[id(other)], language, rng)]
    third = [c for b, c in pairs if b is other and c is not one]
    text = rng.choice(THEN[language]).format(opening, requests[1].text)
    if third and rng.random() < 0.6:
        requests.append(follow(requests[1], tool_of[id(rng.choice(third))], language, rng))
        text = rng.choice(THEN[language]).format(text.rstrip(" ."), requests[2].text)
    calls = [turn for request in requests for turn in request.turns()]
    return [("user", text), *calls, ("assistant", requests[-1].answer)]


def read_both(
    search: Request, opening: str, tool: Tool, language: str, rng: random.Random
) -> Turns:
    """A search that finds two pages, both of which are to be worked on."""
    pages = [follow(search, tool, language, rng)]
    result = f"{search.result}\n"
    search.found |= {pool: draw(pool, language, rng)[0] for pool in search.found}
    pages.append(follow(search, tool, language, rng))
    calls = [turn for page in pages for turn in page.turns()]
    text = rng.choice(THEN[language]).format(opening, rng.choice(BOTH[language]))
    return [
        ("user", text), ("assistant", search.call), ("tool", result + search.result), *calls,
        ("assistant", f"{pages[0].answer} {pages[1].answer}"),
    ]  # fmt: skip


def exchange(
    tools: list[Tool], asked: Tool, kind: str, language: str, rng: random.Random
) -> dict[str, Any]:
    """One exchange of this kind under these tools; of kind "call" where the kind doesn't fit them."""
    ability = asked.ability
    texts = [slot for slot in ability.required if ability.arguments[slot]["pool"] in SPELLED]
    if kind == "talk":
        question, reply = rng.choice(TALK[language])
        turns = [("user", question), ("assistant", reply)]
    elif kind == "near":
        source = ability if rng.random() < 0.6 else rng.choice(ABILITIES)
        remark, reply = rng.choice(source.texts["near_" + language])
        turns = [("user", remark), ("assistant", reply)]
    elif kind == "unable":
        here = [tool.ability for tool in tools]
        foreign = Tool(rng.choice([a for a in ABILITIES if a not in here]), "", rng)
        request = Request(foreign, language, rng)
        turns = [("user", request.text), ("assistant", rng.choice(UNABLE[language]))]
    elif kind == "missing" and "vague_" + language in ability.texts:
        _slot, vague, question = rng.choice(ability.texts["vague_" + language])
        turns = [("user", vague), ("assistant", question)]
        if rng.random() < 0.5:  # and then the missing value comes
            request = Request(asked, language, rng)
            if set(request.values) == {_slot}:
                turns += [
                    ("user", request.said[_slot]),
                    *request.turns(),
                    ("assistant", request.answer),
                ]
    elif kind == "error":
        request, reason = Request(asked, language, rng), rng.choice(REASONS)
        turns = [
            ("user", frame(request.text, language, rng)), ("assistant", request.call),
            ("tool", f"Error: {reason}"), ("assistant", rng.choice(FAILED[language]).format(reason)),
        ]  # fmt: skip
    elif kind == "corrected" and texts:
        slot, request = rng.choice(texts), Request(asked, language, rng)
        right = request.said[slot]
        wrong = misspell(right, rng) if len(right) > 4 else right
        mistaken = request.values | {slot: wrong}
        error = rng.choice(UNKNOWN).format(wrong=wrong, right=right)
        turns = [
            ("user", request.text.replace(right, wrong)), ("assistant", asked.call(mistaken)),
            ("tool", error), *request.turns(), ("assistant", request.answer),
        ]  # fmt: skip
    elif kind == "two":
        first, second = Request(asked, language, rng), Request(rng.choice(tools), language, rng)
        text = rng.choice(JOINTS[language]).format(first.text, second.text)
        turns = [
            ("user", text), *first.turns(), *second.turns(),
            ("assistant", f"{first.answer} {second.answer}"),
        ]  # fmt: skip
    elif kind == "chain" and chains([tool.ability for tool in tools]):
        turns = chain(tools, language, rng)
    else:
        kind, request = "call", Request(asked, language, rng)
        turns = [("user", frame(request.text, language, rng)), ("assistant", request.call)]
        if rng.random() < 0.5:  # the call is what is hard: more of them in the same time
            turns += [("tool", request.result), ("assistant", request.answer)]
    return {"kind": kind, "language": language, "turns": turns}


CHAINED = chains(ABILITIES)


ALIKE_SHARE = 0.3  # of the packs
ALIKE = (  # abilities that are easily taken for one another, and those of the course's own tools
    "get_weather get_time calculate", "get_weather get_time calculate", "search_web read_page run_python",
    "get_weather get_forecast get_time get_date time_in", "search_web search_news read_page encyclopedia_summary",
    "read_file write_file list_files delete_file", "save_note add_todo add_reminder search_notes",
    "convert_currency convert_units calculate percentage", "send_email send_message read_inbox make_phone_call",
    "create_event list_events set_alarm set_timer", "translate detect_language define_word find_synonyms",
    "search_flights train_times distance_between route_traffic", "product_price product_stock add_to_cart order_status",
)  # fmt: skip


def alike(rng: random.Random) -> list[Ability]:
    """Abilities that have to be told apart."""
    named = {ability.names[0]: ability for ability in ABILITIES}
    return [named[name] for name in rng.choice(ALIKE).split()]


def pack(rng: random.Random, exchanges: int, among: list[Ability] = ABILITIES) -> dict[str, Any]:
    """A system prompt with one to six tools, and exchanges under it, in two languages."""
    number = rng.choices([1, 2, 3, 4, 5, 6], [12, 26, 28, 18, 10, 6])[0]
    number = number if among is ABILITIES else max(2, number)
    style = rng.choice(["snake", "snake", "snake", "camel"])
    kinds = rng.choices(list(KINDS), list(KINDS.values()), k=exchanges)
    chosen = rng.sample(among, min(number, len(among)))
    if "chain" in kinds and among is ABILITIES:  # two abilities that go together
        chosen = list(rng.choice(CHAINED)) + [a for a in chosen if not a.texts.get("then_en")]
        chosen = list({id(ability): ability for ability in chosen}.values())[: max(number, 2)]
        rng.shuffle(chosen)
    tools = [Tool(ability, style, rng) for ability in chosen]
    schemas = [tool.schema(rng) for tool in tools]
    text = json.dumps(
        schemas, ensure_ascii=False, indent=rng.choice([None, None, None, None, None, 2])
    )
    system = rng.choice(SYSTEMS).replace("{tools}", text).replace("{call}", CALL)
    first = rng.randrange(len(tools))
    made = []
    for turn, kind in enumerate(kinds):
        language = "fr" if rng.random() < FRENCH else "en"
        made.append(exchange(tools, tools[(first + turn) % len(tools)], kind, language, rng))
    return {"system": system, "exchanges": made}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--packs", type=int, default=2000)
    parser.add_argument("--exchanges", type=int, default=6, help="in each pack")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    packs = [
        pack(rng, options.exchanges, alike(rng) if rng.random() < ALIKE_SHARE else ABILITIES)
        for _ in range(options.packs)
    ]
    lines = [json.dumps(made, ensure_ascii=False) + "\n" for made in packs]
    options.out.write_text("".join(lines), encoding="utf-8")
    print(f"{len(packs)} packs of {options.exchanges} exchanges in {options.out}")


if __name__ == "__main__":
    main()
