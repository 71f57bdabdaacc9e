"""In which country a region's name lies."""

import re

# Azure regions begin with their country or, in the United States, hold it.
# https://learn.microsoft.com/azure/reliability/regions-list (read 2026-11-29)
_AZURE = {
    "australia": "AU", "austria": "AT", "belgium": "BE", "brazil": "BR", "canada": "CA",
    "chile": "CL", "china": "CN", "denmark": "DK", "finland": "FI", "france": "FR",
    "germany": "DE", "india": "IN", "indonesia": "ID", "israel": "IL", "italy": "IT",
    "japan": "JP", "jio": "IN", "korea": "KR", "malaysia": "MY", "mexico": "MX",
    "newzealand": "NZ", "northeurope": "IE", "norway": "NO", "poland": "PL", "qatar": "QA",
    "saudi": "SA", "southafrica": "ZA", "southeastasia": "SG", "eastasia": "HK", "spain": "ES",
    "sweden": "SE", "switzerland": "CH", "taiwan": "TW", "uae": "AE", "uk": "GB",
    "us": "US", "westeurope": "NL",
}  # fmt: skip
_DIRECTION = re.compile(r"(?:north|south|east|west|central)+")


def azure_country(region: str | None) -> str | None:
    """ISO 3166: "westus3" → US, "centralindia" → IN, "northeurope" → IE; None where unknown."""
    if not region:
        return None
    name = region.lower().replace(" ", "")
    for place in (name, _DIRECTION.sub("", name, count=1)):
        for word, country in _AZURE.items():
            if place.startswith(word):
                return country
    return None
