"""`get_weather(city)`: from a shipped table, the same every day, or from Open-Meteo when asked.

The table's weather is an example, so that a lesson says the same on every machine and without a
network.
"""

import csv
import unicodedata
from importlib.resources import files
from typing import Annotated

import httpx

from ..tools import Tool, tool

GEOCODING = "https://geocoding-api.open-meteo.com/v1/search"
FORECAST = "https://api.open-meteo.com/v1/forecast"

# WMO weather codes (https://open-meteo.com/en/docs), by their first digits
_SKIES = {
    0: "sunny", 1: "mainly sunny", 2: "partly cloudy", 3: "cloudy", 45: "foggy", 51: "drizzle",
    61: "rain", 71: "snow", 77: "snow", 80: "showers", 85: "snow showers", 95: "thunderstorms",
}  # fmt: skip

City = Annotated[str, "The city, for example Paris or Tokyo"]


def weather(*, online: bool = False, client: httpx.Client | None = None) -> Tool:
    """The tool `get_weather`; `online` asks Open-Meteo, through `client` if one is given.

    >>> weather()(city="Tokyo")
    'Tokyo: 22 °C, sunny, humidity 40 %'
    """

    @tool
    def get_weather(city: City) -> str:
        """Gets the current weather for a city."""
        return _ask_open_meteo(city, client) if online else _look_up(city)

    return get_weather


def _look_up(city: str) -> str:
    table = _table()
    row = table.get(_plain(city)) or table.get(_plain(city.split(",")[0]))
    if row is None:
        raise LookupError(
            f"no weather for {city!r}; the table has {len(table)} names, such as Paris"
        )
    return _sentence(row["city"], row["celsius"], row["sky"], row["humidity"])


def _table() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("cities.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {_plain(row[name]): row for row in rows for name in ("city", "also") if row[name]}


def _plain(name: str) -> str:
    """A name without accents and case: Tōkyō and tokyo are one city."""
    decomposed = unicodedata.normalize("NFD", name.casefold().strip())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _ask_open_meteo(city: str, client: httpx.Client | None) -> str:
    if client is None:
        with httpx.Client(timeout=10) as own:
            return _ask_open_meteo(city, own)
    found = _get(client, GEOCODING, {"name": city, "count": 1}).get("results")
    if not found:
        raise LookupError(f"Open-Meteo knows no place named {city!r}")
    place = found[0]
    current = _get(
        client,
        FORECAST,
        {
            "latitude": place["latitude"],
            "longitude": place["longitude"],
            "current": "temperature_2m,relative_humidity_2m,weather_code",
        },
    )["current"]
    sky = _SKIES[max(code for code in _SKIES if code <= current["weather_code"])]
    celsius = round(current["temperature_2m"])
    return _sentence(place["name"], celsius, sky, current["relative_humidity_2m"])


def _get(client: httpx.Client, url: str, params: dict[str, str | int | float]) -> dict:  # type: ignore[type-arg]
    try:
        answer = client.get(url, params=params)
        answer.raise_for_status()
        return answer.json()  # type: ignore[no-any-return]
    except httpx.HTTPError as error:
        raise ConnectionError(f"Open-Meteo can't be reached ({error})") from None


def _sentence(city: str, celsius: object, sky: str, humidity: object) -> str:
    return f"{city}: {celsius} °C, {sky}, humidity {humidity} %"
