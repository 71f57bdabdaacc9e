"""In which country a region's name lies."""

import re
from functools import cache, lru_cache

# Words of a region's name that are a country's: "kansascity-usa-1", "UTAH_USA", "us-east-3".
_COUNTRIES = {
    "usa": "US", "us": "US", "canada": "CA", "uk": "GB", "norway": "NO", "sweden": "SE",
    "finland": "FI", "iceland": "IS", "france": "FR", "germany": "DE", "netherlands": "NL",
    "poland": "PL", "spain": "ES", "italy": "IT", "india": "IN", "japan": "JP", "singapore": "SG",
    "australia": "AU", "israel": "IL", "brazil": "BR", "mexico": "MX",
}  # fmt: skip


@lru_cache(2**14)
def named_country(region: str | None) -> str | None:
    """ISO 3166, where a word of the name is a country's; the last one counts."""
    words = re.split(r"[^a-z]+", (region or "").lower())
    return next((_COUNTRIES[word] for word in reversed(words) if word in _COUNTRIES), None)


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


@cache
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


# https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html (2026-11-29)
_AWS = {
    "af-south-1": "ZA", "ap-east-1": "HK", "ap-east-2": "TW", "ap-northeast-1": "JP",
    "ap-northeast-2": "KR", "ap-northeast-3": "JP", "ap-south-1": "IN", "ap-south-2": "IN",
    "ap-southeast-1": "SG", "ap-southeast-2": "AU", "ap-southeast-3": "ID",
    "ap-southeast-4": "AU", "ap-southeast-5": "MY", "ap-southeast-6": "NZ",
    "ap-southeast-7": "TH", "ca-central-1": "CA", "ca-west-1": "CA", "cn-north-1": "CN",
    "cn-northwest-1": "CN", "eu-central-1": "DE", "eu-central-2": "CH", "eu-north-1": "SE",
    "eu-south-1": "IT", "eu-south-2": "ES", "eu-west-1": "IE", "eu-west-2": "GB",
    "eu-west-3": "FR", "eusc-de-east-1": "DE", "il-central-1": "IL", "me-central-1": "AE",
    "me-south-1": "BH", "mx-central-1": "MX", "sa-east-1": "BR", "us-east-1": "US",
    "us-east-2": "US", "us-gov-east-1": "US", "us-gov-west-1": "US", "us-west-1": "US",
    "us-west-2": "US",
}  # fmt: skip


def aws_country(region: str | None) -> str | None:
    """ISO 3166 of a region. A Local Zone ("us-east-1-lim-1") may lie in another country: None."""
    return _AWS.get(region or "")


# https://cloud.google.com/compute/docs/regions-zones (read 2026-11-29)
_GCP = {
    "africa-south1": "ZA", "asia-east1": "TW", "asia-east2": "HK", "asia-northeast1": "JP",
    "asia-northeast2": "JP", "asia-northeast3": "KR", "asia-south1": "IN", "asia-south2": "IN",
    "asia-southeast1": "SG", "asia-southeast2": "ID", "asia-southeast3": "TH",
    "australia-southeast1": "AU", "australia-southeast2": "AU", "europe-central2": "PL",
    "europe-north1": "FI", "europe-north2": "SE", "europe-southwest1": "ES",
    "europe-west1": "BE", "europe-west10": "DE", "europe-west12": "IT", "europe-west2": "GB",
    "europe-west3": "DE", "europe-west4": "NL", "europe-west6": "CH", "europe-west8": "IT",
    "europe-west9": "FR", "me-central1": "QA", "me-central2": "SA", "me-west1": "IL",
    "northamerica-northeast1": "CA", "northamerica-northeast2": "CA",
    "northamerica-south1": "MX", "southamerica-east1": "BR", "southamerica-west1": "CL",
}  # fmt: skip


def gcp_country(region: str | None) -> str | None:
    """ISO 3166 of a region; those of the United States begin with it."""
    name = region or ""
    return "US" if name.startswith("us-") else _GCP.get(name)
