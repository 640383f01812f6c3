"""The exercise of lesson 10: run a plan step by step, and plan anew when a step fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .task import Case, Code, Expect, Outcome, Task, Text, Wrong


def plan_and_execute(
    plan: list[str],
    execute: Callable[[str, list[str]], str],
    replan: Callable[[str, str, list[str]], list[str]],
    max_replans: int = 1,
) -> dict[str, Any]:
    """Runs a plan's steps in order; when one fails, a new plan replaces it and what's behind it.

    >>> def execute(step, results):
    ...     if step == "open the page":
    ...         raise ConnectionError("no network")
    ...     return f"{step}: done"
    >>> plan_and_execute(["open the page"], execute, lambda step, error, results: ["ask Bo"])
    {'done': [['ask Bo', 'ask Bo: done']], 'replans': 1, 'failed': None}
    """
    steps, replans = list(plan), 0
    done: list[list[str]] = []
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps = list(replan(step, str(error), results))
    return {"done": done, "replans": replans, "failed": None}


def _report(done: list[list[str]], replans: int = 0, failed: str | None = None) -> dict[str, Any]:
    return {"done": done, "replans": replans, "failed": failed}


def _after(report: dict[str, Any], *calls: list[Any]) -> Expect:
    """This report, after just these calls of `execute` and `replan`."""

    def check(outcome: Outcome) -> bool:
        same_report = outcome.value == report and type(outcome.value["replans"]) is int
        return same_report and outcome.log == list(calls)

    written = ", ".join(f"{name}({', '.join(map(repr, values))})" for name, *values in calls)
    return Expect(
        Text(f"{report}, after the calls {written}", f"{report}, après les appels {written}"), check
    )


EXECUTE = Code("""
def execute(step, results):
    log("execute", step, results)
    return f"{step}: done"
""")
SITE_DOWN = Code("""
def execute(step, results):
    log("execute", step, results)
    if step == "open the price list":
        raise ConnectionError("the site is down")
    return f"{step}: done"
""")
NOTHING_FOUND = Code("""
def execute(step, results):
    log("execute", step, results)
    if step.startswith("search"):
        raise LookupError(f"nothing found by {step!r}")
    return f"{step}: done"
""")
NUMBERED = Code("""
def execute(step, results):
    return f"result {len(results) + 1}"
""")
NOBODY_THERE = Code("""
def execute(step, results):
    log("execute", step, results)
    if step.startswith("ask"):
        raise KeyError(step)
    return f"{step}: done"
""")
EMPTY_RESULT = Code("""
def execute(step, results):
    log("execute", step, results)
    return "" if step == "clean up" else f"{step}: done"
""")
SILENT = Code("""
def execute(step, results):
    log("execute", step, results)
    if step == "press the button":
        raise ValueError
    return f"{step}: done"
""")
ASK_THE_SHOP = Code("""
def replan(step, error, results):
    log("replan", step, error, results)
    return ["ask the shop", "write"]
""")
SEARCH_AGAIN = Code("""
def replan(step, error, results):
    log("replan", step, error, results)
    return ["ask Bo"] if step == "search again" else ["search again", "write"]
""")
NO_STEPS = Code("""
def replan(step, error, results):
    log("replan", step, error, results)
    return []
""")
THREE_PLANS = Code("""
plans = [["look it up", "ask Bo", "write"], ["ask Cleo"], ["write"]]

def replan(step, error, results):
    log("replan", step, error, results)
    return plans.pop(0)
""")

SHARES, PRICES = "find shares: done", "find prices: done"

TASK = Task(
    name="plan_and_execute",
    lesson=10,
    title=Text("Plan and execute", "Planifier et exécuter"),
    statement=Text(
        "Write `plan_and_execute(plan, execute, replan, max_replans=1)`. `plan` is a list of steps "
        "(texts); run them in order. `execute(step, results)` runs one: it's given the step and "
        "the list of the results so far, and returns the step's result (a text) or raises. When "
        "it raises, and you have re-planned fewer than `max_replans` times, call `replan(step, "
        "error, results)` with the failed step, the exception's text (`str(error)`) and the "
        "results so far. The list of steps that it returns replaces the failed step and all "
        "after it; what was done stays. When it raises and you may not re-plan any more, stop. "
        "Return a dictionary: `done` has a list `[step, result]` for each step that succeeded, in "
        "order; `replans` says how often you re-planned; `failed` is the step at which you "
        "stopped, or `None` if no step is left to do. Leave `plan` as it is.",
        "Écris `plan_and_execute(plan, execute, replan, max_replans=1)`. `plan` est une liste "
        "d'étapes (des textes) ; exécute-les dans l'ordre. `execute(step, results)` en exécute "
        "une : elle reçoit l'étape et la liste des résultats obtenus jusque-là, et renvoie le "
        "résultat de l'étape (un texte) ou lève une exception. Si elle en lève une, et que tu as "
        "replanifié moins de `max_replans` fois, appelle `replan(step, error, results)` avec "
        "l'étape qui a échoué, le texte de l'exception (`str(error)`) et les résultats obtenus "
        "jusque-là. La liste d'étapes qu'elle renvoie remplace l'étape qui a échoué et toutes les "
        "suivantes ; ce qui est fait reste. Si elle en lève une et que tu ne peux plus "
        "replanifier, arrête-toi. Renvoie un dictionnaire : `done` contient une liste `[step, "
        "result]` pour chaque étape réussie, dans l'ordre ; `replans` dit combien de fois tu as "
        "replanifié ; `failed` est l'étape à laquelle tu t'es arrêté, ou `None` s'il ne reste "
        "aucune étape à faire. Laisse `plan` tel quel.",
    ),
    stub="def plan_and_execute(plan, execute, replan, max_replans=1):\n    pass",
    cases=(
        Case(
            Text("all steps succeed", "toutes les étapes réussissent"),
            {
                "plan": ["find shares", "find prices", "write"],
                "execute": EXECUTE,
                "replan": ASK_THE_SHOP,
            },
            _after(
                _report(
                    [["find shares", SHARES], ["find prices", PRICES], ["write", "write: done"]]
                ),
                ["execute", "find shares", []],
                ["execute", "find prices", [SHARES]],
                ["execute", "write", [SHARES, PRICES]],
            ),
            Text(
                "Whoever writes the analysis needs what the steps before have found.",
                "Celui qui rédige l'analyse a besoin de ce que les étapes d'avant ont trouvé.",
            ),
        ),
        Case(
            Text("a step fails, a new plan takes over", "une étape échoue, un nouveau plan suit"),
            {
                "plan": ["find shares", "open the price list", "read the price list", "write"],
                "execute": SITE_DOWN,
                "replan": ASK_THE_SHOP,
            },
            _after(
                _report(
                    [
                        ["find shares", SHARES],
                        ["ask the shop", "ask the shop: done"],
                        ["write", "write: done"],
                    ],
                    replans=1,
                ),
                ["execute", "find shares", []],
                ["execute", "open the price list", [SHARES]],
                ["replan", "open the price list", "the site is down", [SHARES]],
                ["execute", "ask the shop", [SHARES]],
                ["execute", "write", [SHARES, "ask the shop: done"]],
            ),
            Text(
                "A page that didn't open can't be read: the steps after it go with it. What was "
                "found before is still true.",
                "Une page qui ne s'ouvre pas ne peut pas être lue : les étapes suivantes partent "
                "avec elle. Ce qui a été trouvé avant reste vrai.",
            ),
        ),
        Case(
            Text("a second failure ends it", "un deuxième échec y met fin"),
            {
                "plan": ["find shares", "search for prices", "write"],
                "execute": NOTHING_FOUND,
                "replan": SEARCH_AGAIN,
            },
            _after(
                _report([["find shares", SHARES]], replans=1, failed="search again"),
                ["execute", "find shares", []],
                ["execute", "search for prices", [SHARES]],
                [
                    "replan",
                    "search for prices",
                    "nothing found by 'search for prices'",
                    [SHARES],
                ],
                ["execute", "search again", [SHARES]],
            ),
            Text(
                "Without a limit, plan after plan can fail, for ever. What was done until then is "
                "not lost.",
                "Sans limite, les plans peuvent échouer l'un après l'autre, sans fin. Ce qui a été "
                "fait jusque-là n'est pas perdu.",
            ),
        ),
        Case(
            Text("no re-planning at all", "aucune replanification"),
            {
                "plan": ["find shares", "search for prices", "write"],
                "execute": NOTHING_FOUND,
                "replan": SEARCH_AGAIN,
                "max_replans": 0,
            },
            _after(
                _report([["find shares", SHARES]], failed="search for prices"),
                ["execute", "find shares", []],
                ["execute", "search for prices", [SHARES]],
            ),
            Text(
                "A new plan costs a call of the model. With 0, none is made.",
                "Un nouveau plan coûte un appel du modèle. Avec 0, il n'y en a aucun.",
            ),
        ),
        Case(
            Text("an empty plan", "un plan vide"),
            {"plan": [], "execute": EXECUTE, "replan": ASK_THE_SHOP},
            _report([]),
            Text(
                "A model may see nothing to do. That's no failure.",
                "Un modèle peut ne rien voir à faire. Ce n'est pas un échec.",
            ),
        ),
        Case(
            Text("steps with the same text", "des étapes de même texte"),
            {
                "plan": ["roll a die", "roll a die", "add them up"],
                "execute": NUMBERED,
                "replan": ASK_THE_SHOP,
            },
            _report(
                [
                    ["roll a die", "result 1"],
                    ["roll a die", "result 2"],
                    ["add them up", "result 3"],
                ]
            ),
            Text(
                "Two steps may have the same text; they are two steps.",
                "Deux étapes peuvent avoir le même texte ; ce sont deux étapes.",
            ),
            hidden=True,
        ),
        Case(
            Text("a new plan without a step", "un nouveau plan sans étape"),
            {
                "plan": ["find shares", "open the price list", "write"],
                "execute": SITE_DOWN,
                "replan": NO_STEPS,
            },
            _after(
                _report([["find shares", SHARES]], replans=1),
                ["execute", "find shares", []],
                ["execute", "open the price list", [SHARES]],
                ["replan", "open the price list", "the site is down", [SHARES]],
            ),
            Text(
                "The planner may decide that what was found is enough.",
                "Le planificateur peut décider que ce qui a été trouvé suffit.",
            ),
            hidden=True,
        ),
        Case(
            Text("several new plans", "plusieurs nouveaux plans"),
            {
                "plan": ["read", "ask Ana", "write"],
                "execute": NOBODY_THERE,
                "replan": THREE_PLANS,
                "max_replans": 3,
            },
            _after(
                _report(
                    [
                        ["read", "read: done"],
                        ["look it up", "look it up: done"],
                        ["write", "write: done"],
                    ],
                    replans=3,
                ),
                ["execute", "read", []],
                ["execute", "ask Ana", ["read: done"]],
                ["replan", "ask Ana", "'ask Ana'", ["read: done"]],
                ["execute", "look it up", ["read: done"]],
                ["execute", "ask Bo", ["read: done", "look it up: done"]],
                ["replan", "ask Bo", "'ask Bo'", ["read: done", "look it up: done"]],
                ["execute", "ask Cleo", ["read: done", "look it up: done"]],
                ["replan", "ask Cleo", "'ask Cleo'", ["read: done", "look it up: done"]],
                ["execute", "write", ["read: done", "look it up: done"]],
            ),
            Text(
                "The budget is for the whole task, and each new plan builds on all results.",
                "Le budget vaut pour toute la tâche, et chaque nouveau plan s'appuie sur tous les "
                "résultats.",
            ),
            hidden=True,
        ),
        Case(
            Text("a result without a text", "un résultat sans texte"),
            {"plan": ["clean up", "write"], "execute": EMPTY_RESULT, "replan": ASK_THE_SHOP},
            _after(
                _report([["clean up", ""], ["write", "write: done"]]),
                ["execute", "clean up", []],
                ["execute", "write", [""]],
            ),
            Text(
                "An empty text is a result: only an exception is a failure.",
                "Un texte vide est un résultat : seule une exception est un échec.",
            ),
            hidden=True,
        ),
        Case(
            Text("an exception without a text", "une exception sans texte"),
            {
                "plan": ["press the button", "wait"],
                "execute": SILENT,
                "replan": ASK_THE_SHOP,
            },
            _after(
                _report(
                    [["ask the shop", "ask the shop: done"], ["write", "write: done"]], replans=1
                ),
                ["execute", "press the button", []],
                ["replan", "press the button", "", []],
                ["execute", "ask the shop", []],
                ["execute", "write", ["ask the shop: done"]],
            ),
            Text(
                "Some exceptions say nothing, and are failures all the same.",
                "Certaines exceptions ne disent rien, et sont pourtant des échecs.",
            ),
            hidden=True,
        ),
    ),
    hints=(
        Text(
            "A `for` over `plan` can't take a new plan in. Copy the plan into a list, and work on "
            "it with `while steps:`.",
            "Un `for` sur `plan` ne peut pas accueillir un nouveau plan. Copie le plan dans une "
            "liste, et avance avec `while steps:`.",
        ),
        Text(
            "Put `execute(…)` in a `try`. In its `except Exception as error`, look at the "
            "budget first; then count, and put what `replan` returns in place of the steps left.",
            "Mets `execute(…)` dans un `try`. Dans son `except Exception as error`, "
            "regarde d'abord le budget ; puis compte, et mets ce que renvoie `replan` à la place "
            "des étapes restantes.",
        ),
        Text(
            "In the loop: `step = steps.pop(0)`, `results = [result for _, result in done]`. If "
            "`execute(step, results)` succeeds, `done.append([step, result])`. If it raises and "
            "`replans >= max_replans`, return with `failed` set to `step`; else `replans += 1` and "
            "`steps = list(replan(step, str(error), results))`.",
            "Dans la boucle : `step = steps.pop(0)`, `results = [result for _, result in done]`. "
            "Si `execute(step, results)` réussit, `done.append([step, result])`. Si elle lève une "
            "exception et que `replans >= max_replans`, renvoie le dictionnaire avec `step` sous "
            "`failed` ; sinon `replans += 1` et `steps = list(replan(step, str(error), results))`.",
        ),
    ),
    wrong=(
        Wrong(
            "the plan is emptied",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    done, replans = [], 0
    while plan:
        step = plan.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            plan = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "`plan.pop(0)` takes the steps out of the caller's list. Work on a copy: "
                "`steps = list(plan)`.",
                "`plan.pop(0)` retire les étapes de la liste de l'appelant. Travaille sur une "
                "copie : `steps = list(plan)`.",
            ),
        ),
        Wrong(
            "the loop stays on the old plan",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    done, replans = [], 0
    for step in plan:
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            plan = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "`for step in plan` keeps going over the list with which it began, whatever you "
                "assign to `plan` later. Use `while steps:` and `steps.pop(0)`.",
                "`for step in plan` continue sur la liste du début, quoi que tu affectes ensuite à "
                "`plan`. Utilise `while steps:` et `steps.pop(0)`.",
            ),
        ),
        Wrong(
            "the rest of the old plan stays",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps = replan(step, str(error), results) + steps
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "You put the new steps in front of the old ones. The new plan replaces all that "
                "was left: `steps = replan(…)`.",
                "Tu mets les nouvelles étapes devant les anciennes. Le nouveau plan remplace tout "
                "ce qui restait : `steps = replan(…)`.",
            ),
        ),
        Wrong(
            "what was done is forgotten",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps, done = replan(step, str(error), results), []
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "With the new plan you begin again with an empty `done`. The new plan goes on from "
                "the results there are: keep them.",
                "Avec le nouveau plan, tu repars d'un `done` vide. Le nouveau plan continue à "
                "partir des résultats obtenus : garde-les.",
            ),
        ),
        Wrong(
            "the failed step gets a result",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            done.append([step, str(error)])
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "A step that failed stands in `done`, with the error as its result, and the next "
                "steps take it for one. Only what succeeded belongs there.",
                "Une étape qui a échoué figure dans `done`, avec l'erreur pour résultat, et les "
                "étapes suivantes la prennent pour tel. Seul ce qui a réussi y va.",
            ),
        ),
        Wrong(
            "one new plan too many",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans > max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "You re-plan once more than allowed. When `replans` has reached `max_replans`, the "
                "budget is used up: `>=`, not `>`.",
                "Tu replanifies une fois de trop. Quand `replans` a atteint `max_replans`, le "
                "budget est épuisé : `>=`, pas `>`.",
            ),
        ),
        Wrong(
            "the budget isn't looked at",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            replans += 1
            steps = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "You re-plan after every failure, and may never end. Before you call `replan`, "
                "compare `replans` with `max_replans`.",
                "Tu replanifies après chaque échec, et cela peut ne jamais finir. Avant d'appeler "
                "`replan`, compare `replans` à `max_replans`.",
            ),
        ),
        Wrong(
            "pairs in place of results",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        try:
            done.append([step, execute(step, done)])
        except Exception as error:
            if replans >= max_replans:
                return {"done": done, "replans": replans, "failed": step}
            replans += 1
            steps = replan(step, str(error), done)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "You hand on `done`, whose entries are `[step, result]`. `execute` and `replan` "
                "are given the results alone: `[result for _, result in done]`.",
                "Tu transmets `done`, dont les entrées sont `[step, result]`. `execute` et "
                "`replan` reçoivent les résultats seuls : `[result for _, result in done]`.",
            ),
        ),
        Wrong(
            "the last failure is raised",
            """
def plan_and_execute(plan, execute, replan, max_replans=1):
    steps, done, replans = list(plan), [], 0
    while steps:
        step = steps.pop(0)
        results = [result for _, result in done]
        try:
            done.append([step, execute(step, results)])
        except Exception as error:
            if replans >= max_replans:
                raise
            replans += 1
            steps = replan(step, str(error), results)
    return {"done": done, "replans": replans, "failed": None}
""",
            Text(
                "When the budget is used up, your function raises, and all results are lost. "
                "Return the dictionary, with the step under `failed`.",
                "Quand le budget est épuisé, ta fonction lève une exception, et tous les résultats "
                "sont perdus. Renvoie le dictionnaire, avec l'étape sous `failed`.",
            ),
        ),
    ),
    solution=plan_and_execute,
    explanation=Text(
        "A plan makes the order visible before anything is done, and a failure is where it has to "
        "give way: the new plan starts from what is known, error included. With a "
        "model, it's the model that writes the plan and the new one, and each step is a run of "
        "its own. What's still missing: a step that succeeds with a useless result isn't "
        "noticed here, since only exceptions count.",
        "Un plan montre l'ordre avant que rien ne soit fait, et c'est à l'échec qu'il doit céder : "
        "le nouveau plan part de ce que l'on sait, erreur comprise. Avec un "
        "modèle, c'est lui qui écrit le plan et le suivant, et chaque étape est une exécution "
        "à part entière. Ce qui manque encore : une étape qui réussit avec un "
        "résultat inutile passe inaperçue ici, puisque seules les exceptions comptent.",
    ),
)
