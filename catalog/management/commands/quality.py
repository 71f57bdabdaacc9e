"""`manage.py quality`: how much of the interconnect is known, and by whom it is not said."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from catalog.quality import FIELDS, coverage, quality, quarantine_by_provider


class Command(BaseCommand):
    """Coverage, disputes, stale providers, quarantine."""

    help = "Coverage of each interconnect field over multi-GPU offers, in all and by provider."

    def add_arguments(self, parser: CommandParser) -> None:
        """--json: one object, with the keys of the API and `by_provider` beside them."""
        parser.add_argument("--json", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print it."""
        numbers = quality()
        by_provider = {name: shares for name, shares in coverage().items() if name}
        if options["json"]:
            more = {
                "by_provider": by_provider,
                "quarantined_by_provider": quarantine_by_provider(),
            }
            self.stdout.write(json.dumps(numbers | more))
            return
        self._lines(numbers, by_provider)

    def _lines(self, numbers: dict[str, Any], by_provider: dict[str, dict[str, float]]) -> None:
        say = self.stdout.write
        say(f"{numbers['offers']} offers of {numbers['providers']} providers")
        say("share of multi-GPU offers with a sourced value:")
        for name in FIELDS:
            say(f"  {name:<28}{numbers['coverage'][name]:>7.1%}")
        say(f"facts without a source: {numbers['facts_without_source']}")
        say(f"disputed values: {numbers['disputes']}")
        stale = numbers["stale_providers"]
        say(f"providers with nothing fresh: {len(stale)} ({', '.join(stale) or 'none'})")
        say(f"rows in quarantine: {numbers['quarantined']}")
        say("by provider: scale-up, fabric, GPUDirect RDMA, several instances")
        for name, shares in by_provider.items():
            shown = ("scale_up", "fabric", "gpudirect_rdma", "multi_node")
            say(f"  {name:<28}" + "".join(f"{shares[field]:>8.0%}" for field in shown))
