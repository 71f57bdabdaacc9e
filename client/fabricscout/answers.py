"""The forms of the answers, for a type checker: what the API says, key for key.

None is unknown. Money is the text of a decimal, in US dollars where the key says `usd`; bandwidths
are one way; a time is ISO text in UTC. With `fields=` a row has the chosen keys alone; the newest
service may say more than stands here.
"""

from typing import Any, Literal, NotRequired, TypedDict

Basis = Literal["measured", "documented", "spec", "stated", "derived"]


class Offer(TypedDict):
    """One thing that can be rented: a type, in a region, in a tier, under one price model."""

    provider: str
    via: str | None
    instance_type: str
    region: str | None
    country: str | None
    tier: str | None
    price_model: str
    available: bool | None
    gpu: str | None
    gpu_candidates: list[str]
    gpu_vendor: str | None
    form_factor: str | None
    gpu_count: float | None
    gpu_memory_gb: float | None
    vcpus: float | None
    ram_gb: float | None
    scale_up: str | None
    nvlink_generation: float | None
    scale_up_gbytes_per_s: float | None
    scale_up_pair_gbytes_per_s: float | None
    scale_up_domain_gpus: float | None
    nvlink_domain_gpus: float | None
    domain_gpu_memory_gb: float | None
    fabric: str | None
    fabric_generation: str | None
    fabric_nics: float | None
    fabric_gbits_per_s_per_nic: float | None
    fabric_gbits_per_s: float | None
    fabric_gbits_per_s_per_gpu: float | None
    frontend_gbits_per_s: float | None
    gpudirect: str | None
    gpudirect_rdma: str | None
    sharp: str | None
    multi_node: str | None
    max_gpus_on_one_fabric: float | None
    cliff: float | None
    disputed: list[str]
    usd_per_hour: str | None
    usd_per_gpu_hour: str | None
    native_amount: str | None
    native_currency: str | None
    usd_rate: str | None
    usd_rate_date: str | None
    price_note: str | None
    price_includes: str | None
    minimum_hours: float | None
    collected_at: str
    stale: bool
    source_url: str
    warnings: list[str]


class Claim(TypedDict):
    """What one source says of one attribute."""

    value: Any
    basis: Basis
    source: str
    checked: str
    scope: str
    note: str


class Known(TypedDict):
    """One attribute of a type: the value that speaks, how it is known, and every other claim."""

    attribute: str
    title: str
    group: str
    unit: str
    value: Any
    basis: Basis | None
    source: str | None
    checked: str | None
    note: str
    provisional: bool
    disputed: bool
    claims: list[Claim]
    looked: list[Claim]
    withdrawn: list[Claim]


class Question(TypedDict):
    """One thing to know before renting, and how to ask the provider for it."""

    attribute: str
    title: str
    known: bool
    value: Any
    ask: str
    open: bool


class Instance(TypedDict):
    """One type, whole; each attribute's value is a key of the answer besides."""

    provider: str
    provider_title: str
    instance_type: str
    gpu: str | None
    gpu_count: float | None
    disputed: list[str]
    checked: str
    facts: list[Known]
    prices: list[Offer]
    history: list[dict[str, Any]]
    fabrics: list[dict[str, Any]]
    ended_at: str | None
    checklist: list[Question]


class Fact(TypedDict):
    """One sourced statement of the ledger; `superseded_at` says since when it no longer speaks."""

    id: int
    subject: str
    attribute: str
    value: Any
    unit: str
    basis: Basis
    source: str
    checked: str
    scope: str
    provisional: bool
    note: str
    origin: str
    recorded_at: str
    superseded_at: str | None


class Price(TypedDict):
    """What an offer cost from `valid_from` until `valid_to` (None: still)."""

    provider: str
    instance_type: str
    region: str | None
    tier: str | None
    price_model: str
    native_amount: str | None
    native_currency: str | None
    usd_per_hour: str | None
    usd_rate: str | None
    usd_rate_date: str | None
    valid_from: str
    valid_to: str | None
    source_url: str


class Fabric(TypedDict):
    """Instance types that can be reserved together on one network."""

    slug: str
    provider: str
    provider_title: str
    region: str | None
    regions: list[str]
    technology: str
    generation: str | None
    gpu: str | None
    gbits_per_s_per_gpu: float | None
    max_gpus: int | None
    demonstrated_gpus: int | None
    multi_node: str | None
    how: str | None
    instance_types: list[dict[str, Any]]
    nodes: int | None
    gangs: Any
    lowest_on_demand: dict[str, Any] | None
    disputed: list[str]
    unknown: list[str]
    evidence: dict[str, Any]
    source: str
    checked: str


class Ranked(TypedDict):
    """One cluster of a ranking: what it costs, how fast it is, and how sure that is."""

    rank: int
    offer: Offer
    nodes: int
    estimate: dict[str, Any]
    usd_per_mtoken: float | None
    usd_per_hour: float | None
    usd_lost_to_waiting_per_hour: float | None
    interval: dict[str, Any]


class LeftOut(TypedDict):
    """An offer that is not ranked, and why."""

    offer: Offer
    reason: str


class Ranking(TypedDict):
    """Clusters ranked for one workload, on one catalog, by one version of the model."""

    workload: dict[str, Any]
    gpus: int | None
    nodes: int | None
    objective: str
    catalog_as_of: str | None
    model_version: str
    validation: dict[str, Any]
    wish: Any
    doubt: dict[str, Any] | None
    assumptions: list[str]
    results: list[Ranked]
    left_out: list[LeftOut]


class Saved(TypedDict):
    """A comparison that an account keeps: what it asks, and when it was answered last."""

    id: str
    name: str
    notes: str
    workloads: list[dict[str, Any]]
    filter: dict[str, Any]
    picks: list[str]
    objective: str
    currency: str
    baseline: str
    created_at: str
    updated_at: str
    page: str
    last_run: dict[str, Any] | None


class Run(TypedDict):
    """One answer to a comparison, kept as it was."""

    id: str
    made_at: str
    as_of: str | None
    catalog_version: int
    catalog_changed_at: str | None
    model_version: str
    results: dict[str, Any]


class Watch(TypedDict):
    """A wish to be told; `secret` only in the answer that made it."""

    id: str
    comparison: dict[str, Any]
    what: str
    threshold: float | None
    channel: str
    url: str
    pace: str
    language: str
    active: bool
    stopped: str | None
    trouble: str | None
    warnings: list[str]
    created_at: str
    secret_changed_at: str | None
    last_delivery: dict[str, Any] | None
    secret: NotRequired[str]
    signature: NotRequired[str]


# "from" is a word of Python's own: a class cannot have it.
Diff = TypedDict(
    "Diff",
    {
        "from": dict[str, Any] | None,
        "to": dict[str, Any] | None,
        "summary": Any,
        "changes": list[dict[str, Any]],
    },
)
