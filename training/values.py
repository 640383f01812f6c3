"""What fills the slots of the training sentences. Most values are put together from parts, so that
there are many more of them than the model could remember: it has to copy from the request.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

# English | French; one list where the values are the same in both.
LISTS: dict[str, str] = {
    "city": "Paris, London, Berlin, Madrid, Rome, Lisbon, Vienna, Prague, Warsaw, Helsinki, Dublin, "
    "Athens, Nairobi, Lagos, Dakar, Tunis, Mumbai, Bangkok, Hanoi, Manila, Seoul, Osaka, Sydney, "
    "Auckland, Toronto, Montréal, Boston, Chicago, Denver, Quito, Bogotá, Havana, Genève, Nantes, "
    "Lille, Saint-Étienne, Aix-en-Provence, Zürich, Kraków, Ljubljana, Porto, Naples, Salzburg, "
    "New Orleans, San José, Addis Ababa, Ho Chi Minh City, Cape Town, Limoges, Perpignan, Le Mans, "
    "Grenoble, Clermont-Ferrand, Fort-de-France, Québec, Liège, Antananarivo, Reims, Toulouse",
    "country": "Kenya, Peru, Norway, Japan, Mexico, Egypt, India, Chile, Ghana, Nepal, Cuba, Canada, "
    "South Korea, New Zealand, Costa Rica, Iceland, Morocco | Kenya, Pérou, Norvège, Japon, Mexique, "
    "Égypte, Inde, Chili, Ghana, Népal, Cuba, Canada, Corée du Sud, Nouvelle-Zélande, Islande, Maroc",
    "person": "Anna, Bruno, Chloé, Daniel, Emma, Farid, Grace, Hugo, Inès, Jonas, Karim, Marco, "
    "Nora, Oscar, Paula, Quentin, Rosa, Samir, Théo, Uma, Victor, Wanda, Yusuf, Zoé, Aïcha, Björn, "
    "Camille, Dimitri, Élodie, Fatou, Gaël, Hana, Ivo, Jeanne, Kofi, Lucía, Mehdi, Noémie, Priya, Sven",
    "family": "Moreau, Okafor, Lindqvist, Petit, Santos, Nakamura, O'Brien, Haddad, Keller, Dubois, "
    "Ferreira, Novak, Diallo, Rossi, Lefèvre, Ndiaye, Schmidt, Tanaka, Walsh, Bensaïd",
    "sky": "sunny, cloudy, rainy, foggy, windy, clear, stormy, light snow | soleil, nuages, pluie, "
    "brouillard, vent, ciel clair, orages, neige légère",
    "currency": "EUR, USD, GBP, JPY, CHF, CAD, DKK, SGD", "currency2": "SEK, AUD, INR, BRL, NOK, PLN, MXN, KRW",
    "unit": "miles, kilograms, litres, feet, ounces, metres | miles, kilogrammes, litres, pieds, onces, mètres",
    "unit2": "kilometres, pounds, gallons, inches, grams, yards | kilomètres, livres, gallons, pouces, "
    "grammes, yards",
    "quality": "cheap, old, electric, local, ancient, modern, wild, tiny, Nordic, rural, famous, urban | "
    "électriques, anciens, locaux, modernes, nordiques, ruraux, célèbres, urbains, d'occasion, d'hiver",
    "thing": "bikes, museums, festivals, trains, gardens, volcanoes, castles, radios, islands, markets, "
    "robots, maps, bridges, orchestras, beekeepers, lighthouses, marathons, libraries, puppets | vélos, "
    "musées, festivals, trains, jardins, volcans, châteaux, marchés, robots, ponts, orchestres, phares, "
    "marathons, moulins, tramways, fromages, sentiers, carnavals",
    "title": "A bridge opens, Prices fall again, A comet is seen, The team wins, Trains run on time, "
    "Bees return | Un pont ouvre, Les prix baissent, Une comète est visible, L'équipe gagne, Les "
    "abeilles reviennent",
    "title2": "Rain is back, A record is broken, Talks go on, New park for the city | La pluie revient, "
    "Un record tombe, Les discussions continuent, Un nouveau parc en ville",
    "subject": "the printer, my bike, the meeting, the key, dinner, the parcel, the concert, our train, the "
    "lift, the projector, your jacket | l'imprimante, mon vélo, la réunion, la clé, le dîner, le colis, "
    "le concert, notre train, l'ascenseur, le projecteur, ta veste",
    "verb": "is late again, is under the mat, starts at noon, costs 40 euros, is at gate 4, needs two "
    "people, works on Tuesdays, is in the blue box, isn't ready yet, was moved to Friday | est encore "
    "en retard, est sous le paillasson, commence à midi, coûte 40 euros, est porte 4, demande deux "
    "personnes, marche le mardi, est dans la boîte bleue, n'est pas prêt, est reporté à vendredi",
    "phrase": "see you at noon, bring two umbrellas, don't forget the tickets, all is well, call me back, "
    "the cat sleeps on the roof, I'll be ten minutes late, where did you put the ladder?, we won 3-1 | "
    "à midi devant la porte, apporte deux parapluies, n'oublie pas les billets, tout va bien, "
    "rappelle-moi, le chat dort sur le toit, j'aurai dix minutes de retard, où as-tu mis l'échelle ?",
    "do": "water, fix, buy, sell, clean, return, paint, order, check, move | nettoyer, réparer, "
    "acheter, vendre, ranger, rendre, peindre, commander, vérifier, déplacer",
    "object": "the bike, the curtains, oat milk, two lamps, the passport photos, the roof, the old sofa, "
    "Emma's book, the printer, the fence | le vélo, les rideaux, le lait, deux lampes, les photos, le "
    "toit, le vieux canapé, le livre d'Emma, l'imprimante, la clôture",
    "language": "Spanish, German, Italian, Japanese, Polish, Arabic, Turkish, Greek | espagnol, allemand, "
    "italien, japonais, polonais, arabe, turc, grec",
    "word": "candid, drizzle, ledger, quaint, thrift, mellow, brisk, gravel, lantern, nimble, whim, ember "
    "| esquisse, lueur, frileux, tanière, berge, ronce, givre, escale, brindille, malice, grange",
    "cuisine": "Thai, Italian, Lebanese, Indian, Greek, Korean | thaï, italien, libanais, indien, grec, coréen",
    "dish": "lentil soup, apple pie, ratatouille, pancakes, risotto, fish curry, onion tart, couscous | "
    "soupe de lentilles, tarte aux pommes, ratatouille, crêpes, risotto, tarte à l'oignon, couscous",
    "food": "brown rice, almonds, cheddar, avocado, dark bread, lentils, salmon, dried figs | riz complet, "
    "amandes, comté, avocat, pain noir, lentilles, saumon, figues sèches",
    "colour": "blue, red, green, grey, wooden, folding, small, large",
    "item": "desk lamp, backpack, coffee grinder, scarf, chair, kettle, tent, raincoat, shelf, headphones | "
    "lampe de bureau, sac à dos, moulin à café, écharpe, chaise pliante, bouilloire, tente, "
    "imperméable, étagère en bois, casque audio",
    "room": "kitchen, bedroom, bathroom, office, hall, attic, living room | cuisine, chambre, salle de bain, "
    "bureau, couloir, grenier, salon",
    "artist": "Nina Simone, Miles Davis, Édith Piaf, Bach, Fela Kuti, Björk, Stromae, Cesária Évora, Ravel",
    "song": "Blue Harbour, Le Vent du sud, Paper Boats, Minuit, Slow Train, La Ronde, Seven Stones",
    "film": "The Red Kite, Night Bus, Paper Moons, The Ninth Bell, Salt Road, Les Deux Rives, Un été gris, "
    "La Dernière Porte, The Glass Orchard, Winter Keys, Le Phare, Quiet Engines",
    "team": "Rovers, Lions de l'Ouest, River City, Northern Stars, Étoile Bleue, United, Olympique",
    "company": "Norvik, Atelier Brun, Helio Labs, Grainworks, Soleil & Fils, Bluefin, Martin SARL",
    "stem": "notes, report, budget, letter, draft, minutes, photos, backup, plan, invoice, thesis, main, config",
    "ending": ".txt, .md, .csv, .pdf, .py, .json, .log, _final.txt, 2025.md, -v2.csv, été.txt, list.yaml",
    "directory": "/data, ./src, ~/docs, /var/log, projects/alpha, C:\\temp, archives/2024, /home/zoe, vidéos",
    "site": "example.org, news.example, docs.example.com, example.net, mon-site.example, a.example.fr",
    "page": "solar, 42, p?id=7, en/home, blog/2025/06, articles/vélos, index.html, faq#top, r/x_9",
    "mailbox": "anna, team, j.martin, info, support, paul.lee, contact+news, zoe_k",
    "ticker": "ACME, GLBX, NRTH, ZETA, ORBT, HELI, QUAY, BLFN",
    "python": "print(6 * 7), sum(range(10)), len('banana'), [x * x for x in range(4)], abs(-9), "
    "max([4, 9, 2]), 'abc'.upper(), print('hi'), sorted('hello'), 2 ** 20",
    "sql": "SELECT * FROM orders, SELECT name FROM users WHERE age > 30, SELECT COUNT(*) FROM items, "
    "SELECT city FROM shops LIMIT 5, DELETE FROM logs WHERE year < 2020",
    "animal": "red fox, octopus, barn owl, hedgehog, sea turtle, snow leopard | renard roux, poulpe, "
    "chouette effraie, hérisson, tortue marine, panthère des neiges",
    "sport": "running, swimming, rowing, tennis, yoga, cycling, climbing | course, natation, aviron, tennis, "
    "yoga, vélo, escalade",
    "place": "City Hall, Park Lane, the old bridge, Hotel Astoria, North Gate, the harbour, Gate 12, "
    "Riverside Mall, the stadium entrance, 8 Mill Lane | place Bellecour, la mairie, le vieux pont, "
    "l'hôtel Astoria, la porte Nord, le port, le lycée Pasteur, 8 rue du Moulin, la tour Perret",
    "place2": "the airport, Union Square, the university, Lake View, St Mary's Hospital, Terminal 2 | "
    "l'aéroport, la place du marché, l'université, le centre commercial, l'hôpital Nord, le terminal 2",
    "street": "Mill Lane, Oak Avenue, 5th Street, Harbour Road | rue du Moulin, avenue des Chênes, quai Nord",
    "host": "web-01, db.internal, cache-eu, api-gateway, mail2, build-17",
    "app": "Calendar, Maps, Photos, Terminal, Firefox, Notes, Settings",
    "department": "sales, accounting, research, human resources, legal, support | ventes, comptabilité, "
    "recherche, ressources humaines, juridique, support",
    "job": "nurse, baker, data analyst, welder, teacher, carpenter | infirmier, boulanger, analyste de "
    "données, soudeur, professeur, charpentier",
}  # fmt: skip

RANGES = {
    "small": (2, 12), "small2": (1, 6), "hundred": (20, 100), "degrees": (3, 28), "id": (1000, 9999),
    "year": (1950, 2024),
}  # fmt: skip

WORDS = {
    "en": "- - two three four five six seven eight nine ten eleven twelve",
    "fr": "- - deux trois quatre cinq six sept huit neuf dix onze douze",
}

TYPES = {  # JSON Schema's types of the pools that aren't text
    **dict.fromkeys(RANGES, "integer"), "number": "number", "number2": "number", "percent": "number",
    "bool": "boolean", "names": "array", "foods": "array", "words": "array",
}  # fmt: skip


def choose(pool: str, language: str, rng: random.Random) -> str:
    """One of a list's values."""
    values = LISTS[pool].split("|")[-1 if language == "fr" else 0]
    return rng.choice(values.split(", ")).strip()


def draw(pool: str, language: str, rng: random.Random) -> tuple[str, Any]:
    """A value of a pool: as a sentence has it, and as JSON has it."""
    if pool in RANGES:
        value = rng.randint(*RANGES[pool])
        spelled = pool.startswith("small") and value > 1 and rng.random() < 0.15
        return (WORDS[language].split()[value] if spelled else str(value)), value
    if pool in ("number", "number2", "percent"):
        value = rng.choice(
            [5, 8, 12, 15, 20, 25, 7.5, 2.5, 40]
            if pool == "percent"
            else [rng.randint(2, 99), rng.randint(100, 9999), round(rng.uniform(1, 99), 1)]
        )
        comma = language == "fr" and rng.random() < 0.5
        return (str(value).replace(".", ",") if comma else str(value)), value
    if pool == "bool":
        value = rng.random() < 0.5
        return {"en": ("off", "on"), "fr": ("éteint", "allumé")}[language][value], value
    if pool in ("names", "foods", "words"):
        joint = " and " if language == "en" else " et "
        items = rng.sample([choose(SINGULAR[pool], language, rng) for _ in range(9)], 3)
        items = list(dict.fromkeys(items))[: rng.randint(2, 3)]
        return joint.join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items), items
    made = MADE.get(pool)
    text = made(language, rng) if made else choose(pool, language, rng)
    return text, text


SINGULAR = {"names": "person", "foods": "food", "words": "word"}


def _day(language: str, rng: random.Random) -> str:
    return f"{rng.randint(2025, 2027)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _topic(language: str, rng: random.Random) -> str:
    quality, thing, city = (choose(p, language, rng) for p in ("quality", "thing", "city"))
    if language == "fr":
        article = rng.choice(["", "les "])
        return article + rng.choice([f"{thing} {quality}", f"{thing} à {city}", thing])
    return rng.choice([f"{quality} {thing}", f"{thing} in {city}", thing, f"{quality} {thing}"])


def _phrase(language: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        return choose("phrase", language, rng)
    return f"{choose('subject', language, rng)} {choose('verb', language, rng)}"


def _path(language: str, rng: random.Random) -> str:
    name = choose("stem", language, rng) + choose("ending", language, rng)
    return rng.choice([name, f"{choose('directory', language, rng)}/{name}"])


def _product(language: str, rng: random.Random) -> str:
    item = choose("item", language, rng)
    return item if language == "fr" else f"{choose('colour', language, rng)} {item}"


def _expression(language: str, rng: random.Random) -> str:
    a, b, c = rng.randint(2, 99), rng.randint(2, 9999), rng.randint(2, 20)
    d = round(rng.uniform(1, 20), 1)
    forms = [
        f"{a} * {b}", f"{b} / {c}", f"{a} + {b}", f"{b} - {a}", f"{d} * {c}", f"({a} + {c}) * {b}",
        f"{c} ** 2", f"{a}+{b}", f"{b} / ({a} - {c})", f"{a} * {c} + {b}", f"{a}*{c}", f"{b} - {a} + {c}",
    ]  # fmt: skip
    return rng.choice(forms)


def _code(language: str, rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVXZ") for _ in range(rng.randint(1, 3)))
    digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(3, 6)))
    return rng.choice([f"{letters}{digits}", f"{letters}-{digits}", f"{digits}-{letters}", digits])


def _phone(language: str, rng: random.Random) -> str:
    pairs = [f"{rng.randint(0, 99):02}" for _ in range(4)]
    return rng.choice([f"06 {' '.join(pairs)}", f"555-{pairs[0]}{pairs[1]}", f"+44 {pairs[0]}{pairs[1]} {pairs[2]}{pairs[3]}"])  # fmt: skip


MADE: dict[str, Callable[[str, random.Random], str]] = {
    "topic": _topic,
    "phrase": _phrase,
    "path": _path,
    "product": _product,
    "expression": _expression,
    "code": _code,
    "phone": _phone,
    "isodate": _day,
    "task": lambda lang, rng: f"{choose('do', lang, rng)} {choose('object', lang, rng)}",
    "full_name": lambda lang, rng: f"{choose('person', lang, rng)} {choose('family', lang, rng)}",
    "folder": lambda lang, rng: choose("directory", lang, rng),
    "url": lambda lang, rng: f"https://{choose('site', lang, rng)}/{choose('page', lang, rng)}",
    "domain": lambda lang, rng: choose("site", lang, rng),
    "email": lambda lang, rng: f"{choose('mailbox', lang, rng)}@{choose('site', lang, rng)}",
    "clock": lambda lang, rng: f"{rng.randint(0, 23):02}:{rng.choice((0, 5, 15, 20, 30, 45)):02}",
    "date": lambda lang, rng: f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/2026",
}
for _pool in ("city", "person", "product", "path", "isodate"):  # a second value of the same sort
    MADE[_pool + "2"] = MADE.get(_pool) or (lambda lang, rng, p=_pool: choose(p, lang, rng))  # type: ignore[misc]
