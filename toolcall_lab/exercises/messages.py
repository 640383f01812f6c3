"""What the grader says, in both languages: one table. What an exercise says is in its own file."""

from __future__ import annotations

import os

from ..errors import ToolcallLabError
from .task import LANGUAGES, Text

MESSAGES = {
    # states
    "not attempted": Text("not attempted", "pas encore essayé"),
    "failing": Text("failing", "pas encore juste"),
    "passed": Text("passed", "réussi"),
    "stale": Text(
        "changed since it was checked: check it again",
        "modifié depuis la vérification : vérifie à nouveau",
    ),
    # the function itself
    "nothing there": Text(
        "`{name}` isn't defined yet: run the cell in which you write it.",
        "`{name}` n'est pas encore défini : exécute la cellule où tu l'écris.",
    ),
    "no function": Text(
        "This is {found}, not a function. Give the function itself: `ex.check({name})`.",
        "Ceci est {found}, pas une fonction. Donne la fonction elle-même : `ex.check({name})`.",
    ),
    "none": Text("nothing (None)", "rien (None)"),
    "a class": Text("a class", "une classe"),
    "a value": Text("a value of type {type}", "une valeur de type {type}"),
    "parameters": Text(
        "Your function takes ({found}), and it must take ({wanted}).",
        "Ta fonction prend ({found}), elle doit prendre ({wanted}).",
    ),
    "asynchronous": Text(
        "Your function is `async`; write it with a plain `def`.",
        "Ta fonction est `async` ; écris-la avec un simple `def`.",
    ),
    "a generator": Text(
        "There is a `yield` in your function, so it gives values one by one; use `return`.",
        "Il y a un `yield` dans ta fonction, qui donne donc ses valeurs une à une ; utilise "
        "`return`.",
    ),
    "not copied": Text(
        "Your function can't run on its own, since it uses something that can't be copied into "
        "another process ({reason}). Take what it needs as an argument.",
        "Ta fonction ne peut pas tourner seule : elle utilise une chose qui ne se copie pas dans "
        "un autre processus ({reason}). Passe-lui en argument ce qu'il lui faut.",
    ),
    "still a stub": Text(
        "There is nothing in `{name}` yet. Write it, run its cell, and check it.",
        "Il n'y a encore rien dans `{name}`. Écris-la, exécute sa cellule, et vérifie-la.",
    ),
    # what a call did
    "returned": Text("it returned {value}", "elle a renvoyé {value}"),
    "returned other": Text(
        "it returned {value}, a value of type {type}; plain data is expected, of lists, dicts, "
        "texts, numbers",
        "elle a renvoyé {value}, une valeur de type {type} ; on attend des données simples : "
        "listes, dictionnaires, textes, nombres",
    ),
    "returned nothing": Text(
        "it returned nothing (None); is a `return` missing?",
        "elle n'a rien renvoyé (None) ; manque-t-il un `return` ?",
    ),
    "printed instead": Text(
        "it printed {printed} and returned nothing (None): use `return`, not `print`",
        "elle a affiché {printed} et n'a rien renvoyé (None) : utilise `return`, pas `print`",
    ),
    "raised": Text("it raised {kind}: {message}", "elle a levé {kind} : {message}"),
    "timeout": Text(
        "it didn't end, and was stopped after {seconds} s",
        "elle ne s'arrêtait pas, et a été arrêtée au bout de {seconds} s",
    ),
    "exit": Text(
        "it called exit(), which would end the notebook; return instead",
        "elle a appelé exit(), ce qui arrêterait le notebook ; utilise return",
    ),
    "died": Text(
        "it ended the whole process (code {message})",
        "elle a mis fin à tout le processus (code {message})",
    ),
    "input": Text(
        "it asked for input(); all it needs is in its arguments",
        "elle a demandé input() ; tout ce qu'il lui faut est dans ses arguments",
    ),
    "RecursionError": Text(
        "it called itself without an end", "elle s'est appelée elle-même sans fin"
    ),
    "MemoryError": Text("it used too much memory", "elle a utilisé trop de mémoire"),
    "not run": Text(
        "not run, because other calls had to be stopped",
        "pas exécutée, car d'autres appels ont dû être arrêtés",
    ),
    "changed": Text(
        "it changed its argument `{names}`; work on a copy",
        "elle a modifié son argument `{names}` ; travaille sur une copie",
    ),
    "in line": Text(", in line {line}: {text}", ", à la ligne {line} : {text}"),
    "raises": Text("an exception: {kind}", "une exception : {kind}"),
    # the panel
    "tests": Text("tests", "tests"),
    "hidden": Text("hidden tests", "tests cachés"),
    "hidden one": Text("hidden: {name}", "caché : {name}"),
    "call": Text("call", "appel"),
    "got": Text("your result", "ton résultat"),
    "noted": Text("calls made", "appels faits"),
    "expected": Text("expected", "attendu"),
    "why": Text("why", "pourquoi"),
    "hint": Text("Hint", "Indice"),
    "hint of": Text("**Hint {n} of {of}:** {hint}", "**Indice {n} sur {of} :** {hint}"),
    "hint for this": Text(
        "**Hint for what you did:** {hint}", "**Indice pour ce que tu as fait :** {hint}"
    ),
    "knows this": Text(
        "There is a hint for just this: `ex.hint()`.",
        "Il y a un indice pour cela précisément : `ex.hint()`.",
    ),
    "no more hints": Text(
        "Those were all the hints ({of}). `ex.hint(n)` shows one again.",
        "C'étaient tous les indices : {of}. `ex.hint(n)` en remontre un.",
    ),
    "no such hint": Text(
        "There is no hint {n}; there are hints 1 to {of}.",
        "Il n'y a pas d'indice {n} ; il y a les indices 1 à {of}.",
    ),
    "solution": Text("Official solution", "Solution officielle"),
    "solution later": Text(
        "The official solution comes after a success, or after three tries with different code; "
        "you have made {tries}.",
        "La solution officielle vient après une réussite, ou après trois essais avec du code "
        "différent ; tu en as fait {tries}.",
    ),
    "well done": Text("Bravo!", "Bravo !"),
    "check": Text("Check", "Vérifier"),
    "tries": Text("tries", "essais"),
    "course": Text("course", "cours"),
    "solved": Text("solved", "résolus"),
    "title": Text(
        "Exercise of lesson {lesson}: {title}", "Exercice de la leçon {lesson} : {title}"
    ),
    "your code": Text(
        "Write it in a cell, run the cell, and check: `ex.check({name})`.",
        "Écris-la dans une cellule, exécute la cellule, et vérifie : `ex.check({name})`.",
    ),
    # the progress file
    "progress": Text("Your progress", "Ta progression"),
    "best": Text("best", "meilleur"),
    "broken file": Text(
        "The progress file couldn't be read ({reason}); it's kept as {kept}, and a new one begins.",
        "Le fichier de progression était illisible ({reason}) ; il est gardé sous {kept}, et un "
        "nouveau commence.",
    ),
    "newer file": Text(
        "Your progress wasn't saved: {file} is of version {version}, which this version of the "
        "course doesn't know.",
        "Ta progression n'a pas été enregistrée : {file} est de la version {version}, que cette "
        "version du cours ne connaît pas.",
    ),
    "not saved": Text(
        "Your progress couldn't be saved ({reason}).",
        "Ta progression n'a pas pu être enregistrée ({reason}).",
    ),
}


def say(language: str, message: str, /, **values: object) -> str:
    """A message with its values put in.

    >>> say("fr", "parameters", found="a", wanted="a, b")
    'Ta fonction prend (a), elle doit prendre (a, b).'
    """
    return MESSAGES[message](language).format(**values)


def default_language(language: str | None) -> str:
    """The language that was asked for, or that of `TOOLCALL_LAB_LANGUAGE`, or English."""
    chosen = language or os.environ.get("TOOLCALL_LAB_LANGUAGE") or "en"
    if chosen not in LANGUAGES:
        raise ToolcallLabError(f"The language is {' or '.join(LANGUAGES)}, not {chosen!r}.")
    return chosen
