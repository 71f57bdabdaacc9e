"""`manage.py quality`: how much of the interconnect is known, and by whom it is not said."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from catalog.quality import FIELDS, KINDS, quality, quarantine_by_provider


class Command(BaseCommand):
    """Coverage, disputes, stale providers, quarantine."""

    help = "Coverage of each interconnect field over multi-GPU offers, in all and by provider."

    def add_arguments(self, parser: CommandParser) -> None:
        """--json: one object, with the keys of the API and quarantine by provider."""
        parser.add_argument("--json", action="store_true")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Print it."""
        numbers = quality()
        if options["json"]:
            more = {"quarantined_by_provider": quarantine_by_provider()}
            self.stdout.write(json.dumps(numbers | more))
            return
        self._known(numbers)
        self._doubtful(numbers)
        self._by_provider(numbers)

    def _known(self, numbers: dict[str, Any]) -> None:
        say = self.stdout.write
        say(f"{numbers['offers']} offers of {numbers['providers']} providers")
        ways = ("coverage", "nvidia_amd", *KINDS, "provisional")
        say("share of multi-GPU offers with a sourced value; of those of NVIDIA and AMD; and how")
        say("it is known (provisional: its source does not promise it):")
        say(f"  {'':<28}" + "".join(f"{way:>12}" for way in ways))
        for name in FIELDS:
            shares = "".join(f"{numbers[way][name]:>12.1%}" for way in ways)
            say(f"  {name:<28}{shares}{self._in_place(numbers, name)}")

    @staticmethod
    def _in_place(numbers: dict[str, Any], name: str) -> str:
        """The share of the offers of which it can be asked, where those are fewer than all."""
        share = numbers["coverage_in_place"][name]
        if share is None or share == numbers["coverage"][name]:
            return ""
        return f"  {share:.1%} where it has a place"

    def _doubtful(self, numbers: dict[str, Any]) -> None:
        say = self.stdout.write
        say(f"facts without a source: {numbers['facts_without_source']}")
        say(f"disputed values: {numbers['disputes']}")
        for name, types in numbers["disputes_by_attribute"].items():
            say(f"  {name:<28}{types:>7}")
        say(f"measurements that contradict the ledger: {len(numbers['discrepancies'])}")
        for found in numbers["discrepancies"]:
            ledger, measured = found["ledger_value"], found["measured_value"]
            say(f"  {found['subject']} {found['attribute']}: {ledger}, measured {measured}: "
                f"{found['why']}")  # fmt: skip
        apart = numbers["price_discrepancies"]
        say(f"aggregators' prices far from the seller's: {len(apart)} of {numbers['cross_checks']}")
        for found in apart:
            say(f"  {found['provider']}/{found['instance_type']} {found['price_model']} "
                f"({found['compared']}, {found['regions']} regions) "
                f"through {found['via']}: {found['usd_per_gpu_hour']}, "
                f"direct {found['direct_usd_per_gpu_hour']} ({found['percent']:+g} %)")  # fmt: skip
        say(f"interconnect facts past their limit of age: {numbers['facts_past_their_limit']}")
        if oldest := numbers["oldest_checks"]:
            first = oldest[0]
            say(f"oldest check: {first['checked']}, {first['subject']} {first['attribute']}")
        stale = numbers["stale_providers"]
        say(f"providers with nothing fresh: {len(stale)} ({', '.join(stale) or 'none'})")
        say(f"rows in quarantine: {numbers['quarantined']}")

    def _by_provider(self, numbers: dict[str, Any]) -> None:
        say = self.stdout.write
        say("by provider: scale-up, fabric, GPUDirect RDMA, several instances")
        for name, shares in numbers["by_provider"].items():
            shown = ("scale_up", "fabric", "gpudirect_rdma", "multi_node")
            say(f"  {name:<28}" + "".join(f"{shares[field]:>8.0%}" for field in shown))
