"""The exercise of lesson 6: a tool that searches given pages.

The name is French: *recherche web* is a web search.
"""

from __future__ import annotations

import re
import unicodedata

from .task import Case, Expect, Outcome, Task, Text, Wrong


def recherche_web(query: str, pages: list[dict[str, str]], max_results: int = 3) -> str:
    """Lists the pages with the most words of the query, the best first, a numbered line each.

    >>> pages = [{"title": "Tides", "url": "https://sea.example", "text": "The Moon pulls."}]
    >>> print(recherche_web("moon phases", pages))
    1. Tides - https://sea.example
    """

    def words(text: str) -> set[str]:
        letters = unicodedata.normalize("NFKD", text.casefold())
        return set(re.findall(r"\w+", "".join(c for c in letters if not unicodedata.combining(c))))

    def hits(page: dict[str, str]) -> int:
        return len(words(query) & (words(page["title"]) | words(page["text"])))

    found = [page for page in pages if hits(page)]
    found = sorted(found, key=hits, reverse=True)[:max_results]  # ties stay in order
    lines = [f"{number}. {page['title']} - {page['url']}" for number, page in enumerate(found, 1)]
    return "\n".join(lines) or f"No page was found for: {query}"


def _page(title: str, url: str, text: str) -> dict[str, str]:
    return {"title": title, "url": f"https://{url}", "text": text}


def _says_nothing_found(query: str) -> Expect:
    def check(outcome: Outcome) -> bool:
        value = outcome.value
        return (
            isinstance(value, str)
            and query in value
            and value.strip() != query
            and "https://" not in value
        )

    return Expect(
        Text(
            f"a text that says that nothing was found, with the query in it ({query})",
            f"un texte qui dit que rien n'a été trouvé, et qui contient la requête ({query})",
        ),
        check,
    )


SEA = _page("Tides", "sea.example/tides", "The Moon pulls at the sea twice a day.")
BREAD = _page("Bread without yeast", "bake.example/bread", "Flour, water and a hot oven.")
SUN = _page("The Sun", "sky.example/sun", "A star. The sea is warm where it shines.")
MOON = _page("The Moon", "sky.example/moon", "Moon rocks, moon dust, moon landings, moon songs.")
WATER = _page("Why the sea is salty", "sea.example/salt", "Rain takes salt from the rocks.")

PARIS = _page("Météo à Paris", "meteo.example/paris", "Un été déjà très chaud.")
OSLO = _page("METEO OSLO", "meteo.example/oslo", "Neige dès lundi.")
MENU = _page("À la carte", "resto.example", "Un café, un thé.")

LAMPS = [
    _page("Zebra lamp", "shop.example/1", "Striped."),
    _page("Aurora lamp", "shop.example/2", "It glows."),
    _page("Moon lamp", "shop.example/3", "Round."),
    _page("Cables", "shop.example/4", "For lamp and desk."),
    _page("Bulbs", "shop.example/5", "One bulb a lamp."),
]

# What most of the wrong solutions get right.
_FOLD = """
import re
import unicodedata

def fold(text):
    letters = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in letters if not unicodedata.combining(c))
"""

TASK = Task(
    name="recherche_web",
    lesson=6,
    title=Text("A tool that searches the web", "Un outil qui cherche sur le web"),
    statement=Text(
        "Write `recherche_web(query, pages, max_results=3)` (web search). `pages` is a list of "
        '`{"title": …, "url": …, "text": …}`. A page is found if at least one word of the query '
        "is in its title or its text. The more *different* words of the query it has, the "
        "further up it comes; among equals, the order of `pages` stays. A word is a whole run of "
        'letters, digits and underscores (`re.findall(r"\\w+", …)`), in any alphabet. Case '
        "and accents don't count, however an accent is stored: "
        '`unicodedata.normalize("NFKD", …)` parts letters '
        "from their accents, and `unicodedata.combining(c)` tells which characters are accents. "
        "Return one string: at most `max_results` lines, joined by a line break, each of the "
        "form `1. Title - url`, numbered from 1. If nothing is found, return a short sentence "
        "that contains the query as it was given.",
        "Écris `recherche_web(query, pages, max_results=3)`. `pages` est une liste de "
        '`{"title": …, "url": …, "text": …}`. Une page est trouvée si au moins un mot de la '
        "requête est dans son titre ou son texte. Plus elle contient de mots *différents* de la "
        "requête, plus elle vient en haut ; à égalité, l'ordre de `pages` reste. Un mot est une "
        'suite entière de lettres, de chiffres et de tirets bas (`re.findall(r"\\w+", …)`), de '
        "n'importe quel alphabet. La casse et les accents ne comptent pas, de quelque façon "
        "qu'un accent soit codé : "
        '`unicodedata.normalize("NFKD", …)` sépare les lettres de leurs accents, et '
        "`unicodedata.combining(c)` dit quels caractères sont des accents. Renvoie une seule "
        "chaîne : au plus `max_results` lignes, jointes par un saut de ligne, chacune de la forme "
        "`1. Titre - url`, numérotées à partir de 1. Si rien n'est trouvé, renvoie une phrase "
        "courte qui contient la requête telle quelle.",
    ),
    stub="def recherche_web(query, pages, max_results=3):\n    pass",
    cases=(
        Case(
            Text("the best page first", "la meilleure page d'abord"),
            {"query": "sea moon", "pages": [BREAD, SUN, SEA]},
            "1. Tides - https://sea.example/tides\n2. The Sun - https://sky.example/sun",
            Text(
                "A model reads from the top, and may stop there. Irrelevant pages cost tokens.",
                "Un modèle lit depuis le haut, et peut s'en tenir là. Ce qui ne convient pas coûte "
                "des tokens.",
            ),
        ),
        Case(
            Text(
                "different words count, not how often one comes",
                "ce sont les mots différents qui comptent, pas leur répétition",
            ),
            {"query": "moon sea day", "pages": [MOON, WATER, SEA]},
            "1. Tides - https://sea.example/tides\n"
            "2. The Moon - https://sky.example/moon\n"
            "3. Why the sea is salty - https://sea.example/salt",
            Text(
                "A page that says the same word a hundred times would always win: spam does that.",
                "Une page qui répète cent fois le même mot gagnerait toujours : c'est ce que fait "
                "le spam.",
            ),
        ),
        Case(
            Text("case and accents don't count", "la casse et les accents ne comptent pas"),
            {"query": "Meteo DÉJÀ", "pages": [MENU, OSLO, PARIS]},
            "1. Météo à Paris - https://meteo.example/paris\n"
            "2. METEO OSLO - https://meteo.example/oslo",
            Text(
                "People and models leave accents out; pages don't.",
                "Les gens et les modèles oublient les accents ; les pages, non.",
            ),
        ),
        Case(
            Text("whole words only", "des mots entiers seulement"),
            {
                "query": "art",
                "pages": [
                    _page("Party games", "fun.example", "Start with the cards"),
                    _page("Museums", "art.example", "Paintings and other art of all times"),
                ],
            },
            "1. Museums - https://art.example",
            Text(
                "There is no art in a party, and a page that doesn't fit misleads the model.",
                "Pas d'art dans une « party », et une page hors sujet égare le modèle.",
            ),
        ),
        Case(
            Text("three results unless said otherwise", "trois résultats sauf indication"),
            {"query": "desk lamp", "pages": LAMPS},
            "1. Cables - https://shop.example/4\n"
            "2. Zebra lamp - https://shop.example/1\n"
            "3. Aurora lamp - https://shop.example/2",
            Text(
                "The best one may be the last in the list: sort first, then cut.",
                "La meilleure peut être la dernière de la liste : trie d'abord, coupe ensuite.",
            ),
        ),
        Case(
            Text("nothing found", "rien de trouvé"),
            {"query": "Volcano?", "pages": [SEA, BREAD, MENU]},
            _says_nothing_found("Volcano?"),
            Text(
                "An empty result looks like a mistake to a model, and it fills the gap itself.",
                "Un résultat vide ressemble à une erreur pour un modèle, et il comble le vide "
                "lui-même.",
            ),
        ),
        Case(
            Text("beside punctuation", "à côté de la ponctuation"),
            {
                "query": "art, Qwen3",
                "pages": [
                    _page("Museums", "art.example", "Paintings (and other art)."),
                    _page("Older models", "ai.example/old", "Qwen, Qwen2.5 and others."),
                    _page("Small models", "ai.example", "Qwen3: a family. It makes art."),
                ],
            },
            "1. Small models - https://ai.example\n2. Museums - https://art.example",
            Text(
                "Sentences have commas and full stops, and so have queries.",
                "Les phrases ont des virgules et des points, les requêtes aussi.",
            ),
            hidden=True,
        ),
        Case(
            Text("in the title, in the text, in both", "dans le titre, le texte, ou les deux"),
            {
                "query": "tides today",
                "pages": [
                    _page("About tides", "a.example", "Tides, and tides again."),
                    _page("Low and high", "b.example", "The sea has tides."),
                    _page("News", "c.example/tides-today", "Nothing happened."),
                    _page("Tides", "d.example", "Today: low at noon."),
                ],
            },
            "1. Tides - https://d.example\n"
            "2. About tides - https://a.example\n"
            "3. Low and high - https://b.example",
            Text(
                "Title and text are one page: a word in both is still one word.",
                "Titre et texte font une seule page : un mot dans les deux reste un seul mot.",
            ),
            hidden=True,
        ),
        Case(
            Text("a word twice in the query", "un mot deux fois dans la requête"),
            {"query": "moon Moon sea", "pages": [WATER, MOON]},
            "1. Why the sea is salty - https://sea.example/salt\n"
            "2. The Moon - https://sky.example/moon",
            Text(
                "Models repeat themselves. That doesn't make a word more important.",
                "Les modèles se répètent. Le mot n'en devient pas plus important.",
            ),
            hidden=True,
        ),
        Case(
            Text("another limit", "une autre limite"),
            {"query": "lamp", "pages": LAMPS, "max_results": 4},
            "1. Zebra lamp - https://shop.example/1\n"
            "2. Aurora lamp - https://shop.example/2\n"
            "3. Moon lamp - https://shop.example/3\n"
            "4. Cables - https://shop.example/4",
            Text(
                "How much a model can read depends on its window; so the caller says how many.",
                "Ce qu'un modèle peut lire dépend de sa fenêtre ; c'est donc l'appelant qui dit "
                "combien.",
            ),
            hidden=True,
        ),
        Case(
            Text("other alphabets", "d'autres alphabets"),
            {
                "query": "ΑΘΗΝΑ 東京",
                "pages": [
                    _page("Athens", "gr.example", "In Greek: Αθήνα."),
                    _page("Athens and Tokyo", "jp.example", "Αθήνα, 東京, 2026."),
                    SEA,
                ],
            },
            "1. Athens and Tokyo - https://jp.example\n2. Athens - https://gr.example",
            Text(
                "The web isn't written in ASCII, and neither are the questions.",
                "Le web n'est pas écrit en ASCII, les questions non plus.",
            ),
            hidden=True,
        ),
        Case(
            Text("accents stored in another way", "des accents codés autrement"),
            {
                "query": "thé café",
                "pages": [
                    _page("Recettes", "the.example", "Un the\u0301 vert."),
                    _page("Cafe\u0301 et the\u0301", "cafe.example", "Ouvert."),
                ],
            },
            "1. Cafe\u0301 et the\u0301 - https://cafe.example\n2. Recettes - https://the.example",
            Text(
                "é is one character or two, an e and an accent. On the screen they look the same.",
                "é est un caractère ou deux, un e et un accent. À l'écran, rien ne les distingue.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "Write a small function first: from a text to the *set* of its words, in lower case "
            "and without accents. Use it on the query and on the pages.",
            "Écris d'abord une petite fonction : d'un texte à l'*ensemble* (`set`) de ses mots, "
            "en minuscules et sans accents. Sers-t'en pour la requête et pour les pages.",
        ),
        Text(
            "The words that two sets share are `a & b`, those of both together `a | b`, and `len` "
            "counts them. `sorted(…, key=…, reverse=True)` leaves equals in their order.",
            "Les mots que partagent deux ensembles sont `a & b`, ceux des deux réunis `a | b`, et "
            "`len` les compte. `sorted(…, key=…, reverse=True)` laisse les égaux dans leur ordre.",
        ),
        Text(
            'With `hits(page) = len(words(query) & (words(page["title"]) | words(page["text"])))`: '
            "keep the pages with hits, sort them by `hits`, cut at `[:max_results]`, number them "
            'with `enumerate(…, 1)`, join the lines with `"\\n"`. No lines: a sentence.',
            'Avec `hits(page) = len(words(query) & (words(page["title"]) | '
            'words(page["text"])))` : garde les pages qui en ont, trie-les par `hits`, coupe à '
            '`[:max_results]`, numérote avec `enumerate(…, 1)`, joins les lignes par `"\\n"`. '
            "Aucune ligne : une phrase.",
        ),
    ),
    wrong=(
        Wrong(
            "accents count",
            r"""
import re

def words(text):
    return set(re.findall(r"\w+", text.lower()))

def recherche_web(query, pages, max_results=3):
    def hits(page):
        return len(words(query) & words(page["title"] + " " + page["text"]))

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "Case doesn't count in your search, but accents do: \"meteo\" doesn't find "
                '"météo". Part them with `unicodedata.normalize("NFKD", text)` and leave out what '
                "`unicodedata.combining` says yes to.",
                "La casse ne compte pas dans ta recherche, mais les accents si : « meteo » ne "
                'trouve pas « météo ». Sépare-les avec `unicodedata.normalize("NFKD", text)` et '
                "laisse de côté ce à quoi `unicodedata.combining` dit oui.",
            ),
        ),
        Wrong(
            "only ASCII is left",
            r"""
import re
import unicodedata

def words(text):
    plain = unicodedata.normalize("NFKD", text.lower()).encode("ascii", "ignore").decode()
    return set(re.findall(r"\w+", plain))

def recherche_web(query, pages, max_results=3):
    def hits(page):
        return len(words(query) & words(page["title"] + " " + page["text"]))

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "Your way of taking accents off takes Greek and Japanese off as well. Drop only "
                "the characters for which `unicodedata.combining(c)` is true.",
                "Ta façon d'enlever les accents enlève aussi le grec et le japonais. N'enlève que "
                "les caractères pour lesquels `unicodedata.combining(c)` est vrai.",
            ),
        ),
        Wrong(
            "punctuation sticks to the words",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(fold(query).split())

    def hits(page):
        return len(wanted & set(fold(page["title"] + " " + page["text"]).split()))

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                '`split()` cuts at blanks only, so "art)." isn\'t "art". Take the words with '
                '`re.findall(r"\\w+", text)`.',
                "`split()` ne coupe qu'aux espaces : « art). » n'est pas « art ». Prends les mots "
                'avec `re.findall(r"\\w+", text)`.',
            ),
        ),
        Wrong(
            "parts of words are found",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        text = fold(page["title"] + " " + page["text"])
        return sum(word in text for word in wanted)

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                '`word in text` is true inside of words too: "art" is in "party". Compare with '
                "the set of the page's words.",
                "`word in text` est vrai aussi à l'intérieur des mots : « art » est dans "
                "« party ». Compare avec l'ensemble des mots de la page.",
            ),
        ),
        Wrong(
            "repetitions count",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        words = re.findall(r"\w+", fold(page["title"] + " " + page["text"]))
        return sum(word in wanted for word in words)

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "You count how often words come. Count how many different words of the query a "
                "page has: make a `set` of the page's words first.",
                "Tu comptes combien de fois les mots viennent. Compte combien de mots différents "
                "de la requête la page contient : fais d'abord un `set` des mots de la page.",
            ),
        ),
        Wrong(
            "a word twice in the query counts twice",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = re.findall(r"\w+", fold(query))

    def hits(page):
        words = set(re.findall(r"\w+", fold(page["title"] + " " + page["text"])))
        return sum(word in words for word in wanted)

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "A word that the query says twice counts twice in your ranking. Make a `set` of "
                "the query's words as well.",
                "Un mot que la requête dit deux fois compte deux fois dans ton classement. Fais "
                "aussi un `set` des mots de la requête.",
            ),
        ),
        Wrong(
            "pages without a word of the query are listed",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        return len(wanted & set(re.findall(r"\w+", fold(page["title"] + " " + page["text"]))))

    found = sorted(pages, key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "You list pages that have nothing to do with the query. Sorting isn't enough: "
                "leave out those with no word in common.",
                "Tu listes des pages qui n'ont rien à voir avec la requête. Trier ne suffit pas : "
                "laisse de côté celles qui n'ont aucun mot en commun.",
            ),
        ),
        Wrong(
            "cut before sorting",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        return len(wanted & set(re.findall(r"\w+", fold(page["title"] + " " + page["text"]))))

    found = [page for page in pages if hits(page)][:max_results]
    found.sort(key=hits, reverse=True)
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "You cut the list at `max_results` before it's sorted, and may lose the best "
                "page. Sort first.",
                "Tu coupes la liste à `max_results` avant de la trier, et tu peux perdre la "
                "meilleure page. Trie d'abord.",
            ),
        ),
        Wrong(
            "ties in the order of the titles",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))
    found = []
    for page in pages:
        words = set(re.findall(r"\w+", fold(page["title"] + " " + page["text"])))
        if wanted & words:
            found.append((len(wanted & words), page["title"], page["url"]))
    found.sort(reverse=True)
    lines = [f"{n}. {t} - {url}" for n, (_, t, url) in enumerate(found[:max_results], 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "When two pages have equally many words, your sorting goes on by their titles. "
                "Sort by the count alone, with `key=`: then equals stay in their order.",
                "Quand deux pages ont autant de mots, ton tri continue avec les titres. Trie sur "
                "le seul nombre, avec `key=` : les égaux restent alors dans leur ordre.",
            ),
        ),
        Wrong(
            "the pages themselves are sorted",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        return len(wanted & set(re.findall(r"\w+", fold(page["title"] + " " + page["text"]))))

    pages.sort(key=hits, reverse=True)
    found = [page for page in pages if hits(page)][:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines) or f"Nothing found for {query}"
""",
            Text(
                "`pages.sort()` changes the caller's list, and with it the order of ties in the "
                "next search. `sorted(pages, …)` makes a new one.",
                "`pages.sort()` change la liste de l'appelant, et avec elle l'ordre des égalités "
                "de la recherche suivante. `sorted(pages, …)` en fait une nouvelle.",
            ),
        ),
        Wrong(
            "nothing found gives an empty text",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        return len(wanted & set(re.findall(r"\w+", fold(page["title"] + " " + page["text"]))))

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return "\n".join(lines)
""",
            Text(
                "When nothing is found you return an empty text. Say so in a sentence, with the "
                "query in it.",
                "Quand rien n'est trouvé, tu renvoies un texte vide. Dis-le dans une phrase, avec "
                "la requête.",
            ),
        ),
        Wrong(
            "a list in place of a string",
            _FOLD
            + r"""
def recherche_web(query, pages, max_results=3):
    wanted = set(re.findall(r"\w+", fold(query)))

    def hits(page):
        return len(wanted & set(re.findall(r"\w+", fold(page["title"] + " " + page["text"]))))

    found = sorted((page for page in pages if hits(page)), key=hits, reverse=True)[:max_results]
    lines = [f"{n}. {page['title']} - {page['url']}" for n, page in enumerate(found, 1)]
    return lines or f"Nothing found for {query}"
""",
            Text(
                "You return a list of lines. A prompt is text: join them with a line break.",
                "Tu renvoies une liste de lignes. Un prompt est du texte : joins-les par un saut "
                "de ligne.",
            ),
        ),
    ),
    solution=recherche_web,
    explanation=Text(
        "The model gets short lines, the best one first, and a sentence when there's nothing: "
        "silence would tempt it to make something up. The package's `search_web` works on the "
        "same idea with SQLite's full-text search, in which a rare word weighs more than one that "
        "every page has; neither knows that *tide* and *tides* belong together. And titles are "
        "written by others: to the model they are data, and so should they be to you.",
        "Le modèle reçoit des lignes courtes, la meilleure d'abord, et une phrase quand il n'y a "
        "rien : un silence l'inciterait à inventer. Le `search_web` du paquet suit la même idée "
        "avec la recherche plein texte de SQLite, où un mot rare pèse plus qu'un mot présent sur "
        "toutes les pages ; ni l'un ni l'autre ne sait que *marée* et *marées* vont ensemble. Et "
        "les titres sont écrits par d'autres : ce sont des données, pas des instructions.",
    ),
)
