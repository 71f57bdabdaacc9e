"""The admin of what waits for a person: quarantined rows, held lists, words that nobody knows.

A decision is one action of a list. It is written down by `catalog.rulings`, stands in the log and
in the admin's own history, and takes effect through a worker: the errand says what came of it.
What providers wrote is shown as text, whatever it holds.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Exists, Model, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog import models, payloads, rulings
from catalog.models import AliasKind, ErrandKind, QuarantinedRow, Ruling, ScrapeRun, Verdict
from catalog.read_only import ModelAdmin, ReadOnly
from catalog.records import Gate

EXCERPT = 80  # characters of a row that is folded


GATES = {
    Gate.PRICE_BAND: "price outside what such a GPU costs",
    Gate.PRICE_JUMP: "price far from its last one",
    Gate.PRICE_ORDER: "prices in the wrong order",
    Gate.TWO_PRICES: "two prices for one offer",
    Gate.UNKNOWN_GPU: "GPU that nobody knows",
    Gate.FIGURES: "figures that cannot be true",
    Gate.UNREADABLE: "row that cannot be read",
    Gate.UNFIT: "row that no table takes",
}


class GateFilter(admin.SimpleListFilter):
    """Why they were refused."""

    title = "gate"
    parameter_name = "gate"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """Every gate by its title."""
        return [(gate.value, title) for gate, title in GATES.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:  # noqa: ARG002
        """Those of one gate."""
        return queryset.filter(gate=self.value()) if self.value() else queryset


class OfAGate(ReadOnly):
    """Rows that a gate refused."""

    @admin.display(description="gate", ordering="gate")
    def gate_title(self, row: QuarantinedRow | Ruling) -> str:
        """Why it was refused, in words."""
        return GATES[Gate(row.gate)] if row.gate else "–"


class StateFilter(admin.SimpleListFilter):
    """Open questions, unless something else is asked for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002
        """What a person decided; and every row that is kept."""
        return [(Verdict.ACCEPTED, "Accepted"), (Verdict.REJECTED, "Rejected"), ("all", "All rows")]

    def choices(self, changelist: Any) -> Iterator[Any]:
        """The choice that stands when none is made is the open ones."""
        for number, choice in enumerate(super().choices(changelist)):
            yield choice if number else dict(choice) | {"display": "Open"}

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:  # noqa: ARG002
        """The rows of one state."""
        if self.value() is None:
            return queryset.open()
        if self.value() == "all":
            return queryset
        again = QuarantinedRow.objects.filter(
            run__provider=OuterRef("run__provider"), key=OuterRef("key"), pk__gt=OuterRef("pk")
        )
        return queryset.filter(~Exists(again), verdict=self.value())  # once, however often it came


class QuarantineAdmin(OfAGate):
    """Rows that were not published, each with its reason and the row itself."""

    list_display = ("provider", "gate_title", "reason", "excerpt", "where", "seen", "decided")
    list_display_links = ("reason",)
    list_filter = (
        StateFilter,
        ("run__provider", admin.RelatedOnlyFieldListFilter),
        GateFilter,
        "run__started_at",
    )
    list_select_related = ("run",)
    list_per_page = 50
    search_fields = ("reason", "where", "row")
    ordering = ("-run__started_at", "id")
    fields = ("provider", "gate_title", "reason", "raw", "where", "about", "seen", "decided", "run",
              "payload", "teach")  # fmt: skip
    readonly_fields = fields
    actions = ("accept", "reject", "teach_alias")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With what was decided of each."""
        ruling = Ruling.objects.filter(provider=OuterRef("run__provider"), key=OuterRef("key"))
        names = ("verdict", "decided_by", "decided_at")
        decided = {name: Subquery(ruling.values(name)[:1]) for name in names}
        rows: QuerySet[Any] = super().get_queryset(request).annotate(**decided)
        return rows

    @admin.display(ordering="run__provider")
    def provider(self, row: QuarantinedRow) -> str:
        """Whose list it stood in."""
        return row.run.provider_id

    @admin.display(description="row")
    def excerpt(self, row: QuarantinedRow) -> SafeString:
        """The beginning of the row, that unfolds to the whole of it."""
        begins = row.row[:EXCERPT]
        return format_html("<details><summary>{}</summary>{}</details>", begins, self.raw(row))

    @admin.display(description="the row as it came")
    def raw(self, row: QuarantinedRow) -> SafeString:
        """The row, whole."""
        return format_html('<pre style="white-space: pre-wrap">{}</pre>', row.row)

    @admin.display(description="read", ordering="run__started_at")
    def seen(self, row: QuarantinedRow) -> Any:
        """When it was read."""
        return row.run.started_at

    def decided(self, row: Any) -> str:
        """By whom, and when."""
        if row.verdict is None:
            return "open"
        return f"{row.verdict} by {row.decided_by}, {row.decided_at:%Y-%m-%d %H:%M} UTC"

    @admin.display(description="an alias")
    def teach(self, row: QuarantinedRow) -> SafeString | str:
        """To the form that teaches its words, where words are what is wrong."""
        if row.gate != Gate.UNKNOWN_GPU:
            return "–"
        return format_html('<a href="{}">Teach what {} means</a>', _teach_url(row), row.about)

    @admin.action(description="Accept: publish as it is", permissions=["rule"])
    def accept(self, request: HttpRequest, rows: QuerySet[QuarantinedRow]) -> None:
        """Now, and whenever it comes again."""
        taken = list(rows)
        try:
            errands = rulings.accept(taken, request.user.get_username())
        except rulings.Unruly as problem:
            self.message_user(request, str(problem), messages.ERROR)
            return
        self._noted(request, taken, "accepted")
        lists = ", ".join(errand.run.provider_id for errand in errands) or "the next lists"
        told = f"{len(taken)} accepted. A worker reads {lists} again: see the errands."
        self.message_user(request, told)

    @admin.action(description="Reject: keep it out", permissions=["rule"])
    def reject(self, request: HttpRequest, rows: QuerySet[QuarantinedRow]) -> None:
        """And ask nobody again."""
        taken = list(rows)
        rulings.reject(taken, request.user.get_username())
        self._noted(request, taken, "rejected")
        self.message_user(request, f"{len(taken)} rejected.")

    @admin.action(description="Teach an alias for its words", permissions=["rule"])
    def teach_alias(
        self, request: HttpRequest, rows: QuerySet[QuarantinedRow]
    ) -> HttpResponse | None:
        """To the form, filled in from the row."""
        row = rows.filter(gate=Gate.UNKNOWN_GPU).first()
        if row is None:
            told = "None of these rows is refused for a word that could be taught."
            self.message_user(request, told, messages.ERROR)
            return None
        return HttpResponseRedirect(_teach_url(row))

    def _noted(self, request: HttpRequest, rows: list[QuarantinedRow], word: str) -> None:
        LogEntry.objects.log_actions(request.user.pk, rows, CHANGE, word)  # type: ignore[arg-type]


def _teach_url(row: QuarantinedRow) -> str:
    asked = {"kind": AliasKind.GPU, "provider": row.run.provider_id, "words": row.about}
    return f"{reverse('admin:catalog_alias_add')}?{urlencode(asked)}"


# --- Words ------------------------------------------------------------------------------------


class AliasForm(forms.ModelForm):  # type: ignore[type-arg]  # Django's own takes no type
    """What a provider's words mean."""

    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in AliasKind])

    class Meta:
        model = models.Alias
        fields = ("kind", "provider", "words", "target")

    def clean(self) -> dict[str, Any]:
        """Its meaning is one that we know."""
        said = super().clean() or {}
        whole = {name: getattr(self.instance, name) for name in ("kind", "provider")} | said
        if whole.get("kind") and whole.get("target"):
            provider = whole["provider"] and whole["provider"].pk
            try:
                rulings.check_target(AliasKind(whole["kind"]), provider, whole["target"])
            except rulings.Unruly as problem:
                self.add_error("target", str(problem))
        return said


class AliasAdmin(ModelAdmin):
    """Words that people taught; they hold from the next list on."""

    form = AliasForm
    list_display = ("words", "kind", "provider", "target", "taught_by", "taught_at")
    list_filter = ("kind", "provider")
    search_fields = ("words", "target")

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:  # noqa: ARG002
        """Its meaning can be corrected; other words are another alias."""
        return ("kind", "provider", "words") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: ARG002
        """Through the one door, which leaves a line and has the lists read again."""
        who = request.user.get_username()
        taught = rulings.teach(AliasKind(obj.kind), obj.provider_id, obj.words, obj.target, who)
        obj.pk = taught.pk
        self.message_user(request, "A worker reads the newest lists again: see the errands.")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """It holds no more, from the next list on."""
        rulings.audit.info("%r let go of the alias %r", request.user.get_username(), str(obj))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """One by one, so that each leaves its line."""
        for alias in queryset:
            self.delete_model(request, alias)


# --- Lists ------------------------------------------------------------------------------------


class RunAdmin(ReadOnly):
    """What became of each scrape; of those that wait, a person decides."""

    list_display = ("id", "provider", "state", "started_at", "rows_in", "quarantined", "reason")
    list_filter = ("state", "live", "provider", "started_at")
    ordering = ("-started_at",)
    exclude = ("payloads",)
    actions = ("approve", "refuse", "replay")

    @admin.action(description="Accept the held list: publish it", permissions=["rule"])
    def approve(self, request: HttpRequest, runs: QuerySet[ScrapeRun]) -> None:
        """Its very payload."""
        self._ask(request, runs, ErrandKind.APPROVE)

    @admin.action(description="Reject the held list", permissions=["rule"])
    def refuse(self, request: HttpRequest, runs: QuerySet[ScrapeRun]) -> None:
        """What was published before stands."""
        for run in runs:
            try:
                rulings.refuse(run, request.user.get_username())
            except rulings.Unruly as problem:
                self.message_user(request, str(problem), messages.ERROR)
                continue
            self.log_change(request, run, "refused")
            self.message_user(request, f"The list of {run.provider_id} is refused.")

    @admin.action(description="Replay: read the payload again", permissions=["rule"])
    def replay(self, request: HttpRequest, runs: QuerySet[ScrapeRun]) -> None:
        """By today's code, rulings and words."""
        self._ask(request, runs, ErrandKind.REPLAY)

    def _ask(self, request: HttpRequest, runs: QuerySet[ScrapeRun], kind: ErrandKind) -> None:
        for run in runs:
            try:
                rulings.ask(run, kind, request.user.get_username())
            except rulings.Unruly as problem:
                self.message_user(request, str(problem), messages.ERROR)
                continue
            self.log_change(request, run, f"asked: {kind}")
            self.message_user(request, f"A worker will {kind} the list of {run.provider_id}.")


class PayloadAdmin(ReadOnly):
    """The bytes as they came: to be downloaded, never shown as a page."""

    exclude = ("body",)
    list_display = ("sha256", "url", "size", "fetched_at")
    readonly_fields = ("download",)

    def get_urls(self) -> list[URLPattern]:
        """And one for the bytes."""
        own = path("<str:sha256>/bytes/", self.admin_site.admin_view(self.body), name="payload")
        return [own, *super().get_urls()]

    def download(self, payload: models.RawPayload) -> SafeString:
        """A link to them."""
        url = reverse("admin:payload", args=[payload.pk])
        return format_html('<a href="{}">{} bytes</a>', url, payload.size)

    def body(self, request: HttpRequest, sha256: str) -> HttpResponse:
        """The bytes, for whoever may see payloads."""
        payload = self.get_object(request, sha256)
        if not isinstance(payload, models.RawPayload) or not self.has_view_permission(request):
            return HttpResponse(status=404)
        response = HttpResponse(payloads.body(payload), content_type="application/octet-stream")
        response["Content-Disposition"] = f'attachment; filename="{payload.sha256}"'
        response["X-Content-Type-Options"] = "nosniff"
        return response


class ErrandAdmin(ReadOnly):
    """What was asked of the workers, and what came of it."""

    list_display = ("kind", "run", "asked_by", "asked_at", "done_at", "outcome")
    list_filter = ("kind", "run__provider")
    list_select_related = ("run",)
    ordering = ("-asked_at",)


class RulingAdmin(OfAGate):
    """What people decided; one that is deleted is an open question again."""

    list_display = ("provider", "verdict", "gate_title", "reason", "decided_by", "decided_at")
    list_filter = ("verdict", GateFilter, "provider", "decided_at")
    exclude = ("gate",)
    readonly_fields = ("gate_title",)
    ordering = ("-decided_at",)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Whoever may rule may think again."""
        return self.has_rule_permission(request)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """With its line in the log."""
        rulings.audit.info("%r took back: %r", request.user.get_username(), str(obj))
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """One by one, so that each leaves its line."""
        for ruling in queryset:
            self.delete_model(request, ruling)


admin.site.register(models.QuarantinedRow, QuarantineAdmin)
admin.site.register(models.ScrapeRun, RunAdmin)
admin.site.register(models.RawPayload, PayloadAdmin)
admin.site.register(models.Alias, AliasAdmin)
admin.site.register(models.Errand, ErrandAdmin)
admin.site.register(models.Ruling, RulingAdmin)
