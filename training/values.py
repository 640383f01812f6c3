"""What the slots of the training sentences are filled with."""

from __future__ import annotations

import random
from typing import Any

# English | French; one list where the values are the same in both.
POOLS: dict[str, str] = {
    "city": "Paris, London, Berlin, Madrid, Rome, Lisbon, Vienna, Prague, Warsaw, Oslo, Helsinki, "
    "Dublin, Athens, Cairo, Nairobi, Lagos, Dakar, Tunis, Delhi, Mumbai, Bangkok, Hanoi, Manila, "
    "Seoul, Kyoto, Osaka, Sydney, Auckland, Toronto, Montréal, Boston, Chicago, Denver, Lima, Quito, "
    "Bogotá, Havana, Genève, Lyon, Nantes, Lille, Brest, Saint-Étienne, Aix-en-Provence, Zürich",
    "country": "Kenya, Peru, Norway, Japan, Mexico, Egypt, India, Chile, Ghana, Nepal, Cuba, Canada",
    "person": "Anna, Bruno, Chloé, Daniel, Emma, Farid, Grace, Hugo, Inès, Jonas, Karim, Léa, Marco, "
    "Nora, Oscar, Paula, Quentin, Rosa, Samir, Théo, Uma, Victor, Wanda, Yusuf, Zoé",
    "sky": "sunny, cloudy, rainy, foggy, windy, clear | soleil, nuages, pluie, brouillard, vent, ciel clair",
    "currency": "EUR, USD, GBP, JPY, CHF, CAD",
    "currency2": "SEK, AUD, INR, BRL, NOK, PLN",
    "unit": "miles, kilograms, litres, feet, ounces, metres",
    "unit2": "kilometres, pounds, gallons, inches, grams, yards",
    "topic": "solar panels, the city marathon, electric bikes, bird migration, jazz festivals, the new "
    "museum, honey bees, rail travel, sourdough bread, volcano research, chess openings, old maps, "
    "the budget meeting, garden design | les panneaux solaires, le marathon, les vélos électriques, la "
    "migration des oiseaux, les festivals de jazz, le nouveau musée, les abeilles, le train de nuit, le "
    "pain au levain, les volcans, les échecs, les cartes anciennes, la réunion budget, le jardinage",
    "title": "A bridge opens, Prices fall again, A comet is seen, The team wins | Un pont ouvre, Les prix "
    "baissent, Une comète est visible, L'équipe gagne",
    "title2": "Rain is back, A record is broken, Talks go on | La pluie revient, Un record tombe, Les "
    "discussions continuent",
    "phrase": "see you at noon, the key is under the mat, bring two umbrellas, it works on Tuesdays, "
    "don't forget the tickets, the printer is broken again, we meet at gate 4, all is well, call me "
    "back, the cat sleeps on the roof | à midi devant la gare, la clé est sous le paillasson, apporte "
    "deux parapluies, ça marche le mardi, n'oublie pas les billets, l'imprimante est encore en panne, "
    "rendez-vous porte 4, tout va bien, rappelle-moi, le chat dort sur le toit",
    "task": "water the plants, pay the rent, buy oat milk, call the dentist, renew the passport, fix the "
    "bike, feed the fish | arroser les plantes, payer le loyer, acheter du lait, appeler le dentiste, "
    "refaire le passeport, réparer le vélo, nourrir les poissons",
    "language": "Spanish, German, Italian, Japanese, Polish, Arabic | espagnol, allemand, italien, "
    "japonais, polonais, arabe",
    "word": "candid, drizzle, ledger, quaint, thrift, mellow | esquisse, lueur, frileux, tanière, berge",
    "cuisine": "Thai, Italian, Lebanese, Indian, Greek | thaï, italien, libanais, indien, grec",
    "pizza": "margherita, four cheese, vegetarian, mushroom | margherita, quatre fromages, végétarienne",
    "product": "desk lamp, blue backpack, coffee grinder, wool scarf, camping chair | lampe de bureau, "
    "sac à dos, moulin à café, écharpe, chaise pliante",
    "room": "kitchen, bedroom, bathroom, office, hall | cuisine, chambre, salle de bain, bureau, entrée",
    "artist": "Nina Simone, Miles Davis, Edith Piaf, Bach, Fela Kuti, Björk",
    "film": "The Red Kite, Night Bus, Paper Moons, The Ninth Bell, Salt Road",
    "dish": "lentil soup, apple pie, ratatouille, pancakes, risotto | soupe de lentilles, tarte aux "
    "pommes, ratatouille, crêpes, risotto",
    "folder": "/data/reports, ./photos, ~/music, docs/2025, /var/backups",
    "path": "notes.txt, report_2025.md, ./src/main.py, /data/été.csv, todo.md, letters/draft 2.txt",
    "path2": "list.txt, old.csv, plan.md",
    "url": "https://example.org/solar, https://news.example/42, http://example.com/a?b=1",
    "email": "anna@example.org, team@example.com, j.martin@example.net, info@example.fr",
    "ticker": "ACME, GLBX, NRTH, ZETA, ORBT",
    "code": "XK93-22, A7F4Q, 88412-B, ZZ-1094, LP0057",
    "phone": "+33 1 44 00 00 12, 020 7946 0018, 555-0134",
    "python": "print(6 * 7), sum(range(10)), len('banana'), [x * x for x in range(4)], abs(-9)",
    "sql": "SELECT * FROM orders, SELECT name FROM users WHERE age > 30, SELECT COUNT(*) FROM items",
    "expression": "12 * (3 + 4), 1024 / 16, 17 + 25 - 8, 3.5 * 4, (8 + 2) ** 2, 48 - 19, 81 / 9, 7 * 6",
    "priority": "low, normal, high",
}

NUMBERS = {
    "small": (2, 12), "small2": (1, 6), "hundred": (20, 100), "degrees": (3, 28), "id": (1000, 9999),
    "year": (1950, 2024),
}  # fmt: skip

TYPES = {
    "small": "integer", "small2": "integer", "hundred": "integer", "degrees": "integer",
    "id": "integer", "number": "number", "percent": "number", "bool": "boolean",
}  # fmt: skip

ENUMS = {"priority": ["low", "normal", "high"]}


def draw(pool: str, language: str, rng: random.Random) -> tuple[str, Any]:
    """A value of a pool: as a sentence has it, and as JSON has it."""
    if pool in NUMBERS:
        value = rng.randint(*NUMBERS[pool])
        return str(value), value
    if pool == "percent":
        value = rng.choice([5, 8, 12, 15, 20, 25, 7.5])
        return (str(value).replace(".", ",") if language == "fr" else str(value)), value
    if pool == "number":
        number = rng.choice(
            [rng.randint(2, 99), rng.randint(100, 9999), round(rng.uniform(1, 99), 1)]
        )
        return (str(number).replace(".", ",") if language == "fr" else str(number)), number
    if pool == "bool":
        value = rng.random() < 0.5
        words = {"en": ("off", "on"), "fr": ("éteint", "allumé")}[language]
        return words[value], value
    if pool == "isodate":
        value = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        return value, value
    if pool == "date":
        value = f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/2026"
        return value, value
    if pool == "clock":
        value = f"{rng.randint(0, 23):02}:{rng.choice((0, 5, 15, 20, 30, 45)):02}"
        return value, value
    lists = POOLS[pool.removesuffix("2") if pool not in POOLS else pool].split(" | ")
    values = lists[-1 if language == "fr" else 0]
    value = rng.choice(values.split(", "))
    return value, value
