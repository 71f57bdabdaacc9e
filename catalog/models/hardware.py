"""What is known of a GPU, an instance type and a fabric, and every statement that says so.

The columns of a type are what its statements come to (`catalog.ledger.spec`); the statements
themselves are `Fact` rows, and a correction leaves the old one readable.
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from catalog import records
from catalog.facts import ATTRIBUTES
from catalog.models.providers import Provider
from catalog.models.rules import between, one_of, positive


class Gpu(models.Model):
    """One SKU, as its datasheet has it. Peaks are dense; bandwidths one way."""

    slug = models.CharField(max_length=64, primary_key=True)
    gpu_vendor = models.CharField(max_length=32, null=True)
    form_factor = models.CharField(max_length=32, null=True)
    gpu_memory_gb = models.FloatField(null=True)
    scale_up = models.CharField(max_length=24, null=True)
    nvlink_generation = models.SmallIntegerField(null=True)
    scale_up_gbytes_per_s = models.FloatField(null=True)
    memory_gbytes_per_s = models.FloatField(null=True)
    bf16_tflops = models.FloatField(null=True)
    fp16_tflops = models.FloatField(null=True)
    fp8_tflops = models.FloatField(null=True)
    fp4_tflops = models.FloatField(null=True)
    pcie_generation = models.SmallIntegerField(null=True)
    tdp_w = models.FloatField(null=True)
    evidence = models.JSONField(default=dict)

    class Meta:
        constraints = [
            one_of("gpu", "scale_up", records.ScaleUp),
            *positive("gpu", "gpu_memory_gb", "memory_gbytes_per_s", "bf16_tflops"),
        ]

    def __str__(self) -> str:
        return self.slug


class InstanceType(models.Model):
    """What one type is. Null is unknown: never zero, never "no". Units are in the names."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="instance_types")
    name = models.CharField(max_length=200)
    # the GPU
    gpu = models.ForeignKey(
        Gpu, models.PROTECT, db_column="gpu", null=True, blank=True, related_name="instance_types"
    )
    gpu_candidates = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    gpu_count = models.FloatField(null=True)
    gpu_memory_gb = models.FloatField(null=True)
    gpu_vendor = models.CharField(max_length=400, null=True)
    form_factor = models.CharField(max_length=400, null=True)
    vcpus = models.FloatField(null=True)
    ram_gb = models.FloatField(null=True)
    # inside the domain
    scale_up = models.CharField(max_length=24, null=True)
    nvlink_generation = models.SmallIntegerField(null=True)
    scale_up_gbytes_per_s = models.FloatField(null=True)
    scale_up_pair_gbytes_per_s = models.FloatField(null=True)
    scale_up_domain_gpus = models.IntegerField(null=True)
    scale_up_domain_guaranteed_gpus = models.IntegerField(null=True)
    nvlink_domain_gpus = models.IntegerField(null=True)
    domain_gpu_memory_gb = models.FloatField(null=True)
    # between instances
    fabric = models.CharField(max_length=24, null=True)
    fabric_generation = models.CharField(max_length=400, null=True)
    fabric_nics = models.IntegerField(null=True)
    fabric_gbits_per_s_per_nic = models.FloatField(null=True)
    fabric_gbits_per_s = models.FloatField(null=True)
    fabric_gbits_per_s_per_gpu = models.FloatField(null=True)
    gpudirect = models.CharField(max_length=12, null=True)
    gpudirect_rdma = models.CharField(max_length=12, null=True)
    rdma = models.CharField(max_length=12, null=True)
    sharp = models.CharField(max_length=12, null=True)
    rail_optimised = models.CharField(max_length=12, null=True)
    adaptive_routing = models.CharField(max_length=12, null=True)
    oversubscription = models.FloatField(null=True)
    multi_node = models.CharField(max_length=12, null=True)
    same_fabric = models.CharField(max_length=400, null=True)
    max_gpus_on_one_fabric = models.IntegerField(null=True)
    software_support = models.CharField(max_length=400, null=True)
    # the front end, and what somebody measured
    frontend_gbits_per_s = models.FloatField(null=True)
    frontend_burst_gbits_per_s = models.FloatField(null=True)
    measured_pair_gbytes_per_s = models.FloatField(null=True)
    measured_all_reduce_gbytes_per_s = models.FloatField(null=True)
    # what they come to
    cliff = models.FloatField(null=True)
    disputed = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    # By attribute: value, basis, source, checked, note, provisional, disputed, and other claims.
    evidence = models.JSONField(default=dict)
    # By region: the columns of which something else is said there (`catalog.scopes`).
    by_region = models.JSONField(null=True)
    # The day of the oldest of its interconnect facts: how old the description may be.
    checked = models.DateField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "name"], name="instance_type_once"),
            one_of("instance_type", "scale_up", records.ScaleUp),
            one_of("instance_type", "fabric", records.FabricKind),
            one_of("instance_type", "gpudirect", records.Support),
            one_of("instance_type", "gpudirect_rdma", records.Support),
            one_of("instance_type", "rdma", records.Support),
            one_of("instance_type", "sharp", records.Support),
            one_of("instance_type", "multi_node", records.MultiNode),
            between("instance_type", "gpu_count", 0.01, 1024),
            between("instance_type", "gpu_memory_gb", 0.5, 2048),
            between("instance_type", "fabric_gbits_per_s", 0.1, 1e6),
            between("instance_type", "scale_up_gbytes_per_s", 1, 5000),
            between("instance_type", "scale_up_domain_gpus", 1, 1024),
        ]
        indexes = [
            models.Index(fields=["gpu"], name="instance_type_by_gpu"),
            models.Index(fields=["fabric", "scale_up"], name="instance_type_by_links"),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id}/{self.name}"


class Fabric(models.Model):
    """One network: which types can be reserved together on it, at what speed, up to how many GPUs.

    Filled by the rule that `catalog.fabrics` names, from what is said of the types.
    """

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="fabrics")
    slug = models.CharField(max_length=200, primary_key=True)
    region = models.CharField(max_length=120, null=True, blank=True)  # null: wherever it is sold
    gpu = models.CharField(max_length=64, null=True, blank=True)  # of all its types
    technology = models.CharField(max_length=24)
    generation = models.CharField(max_length=400, null=True, blank=True)
    gbits_per_s_per_gpu = models.FloatField(null=True, blank=True)
    max_gpus = models.IntegerField(null=True, blank=True)
    how = models.CharField(max_length=400, null=True, blank=True)
    multi_node = models.CharField(max_length=12, null=True, blank=True)
    source = models.CharField(max_length=1000)
    checked = models.DateField()
    instance_types = models.ManyToManyField(InstanceType, related_name="fabrics")

    class Meta:
        constraints = [
            one_of("fabric", "technology", records.FabricKind),
            one_of("fabric", "multi_node", records.MultiNode),
            *positive("fabric", "gbits_per_s_per_gpu", "max_gpus"),
        ]

    def __str__(self) -> str:
        return self.slug


class FactQuerySet(models.QuerySet["Fact"]):
    """Statements."""

    def live(self) -> "FactQuerySet":
        """Those that nobody has withdrawn or corrected."""
        return self.filter(superseded_at=None)


class Fact(models.Model):
    """One sourced statement, as `catalog.records.Fact` has it, and who brought it in.

    `value` is its text, which `ATTRIBUTES[attribute].read` turns back; null says "looked for on
    that day, and nobody says". `origin` is the file of catalog/data/ or the provider whose listing
    states it: what an origin no longer states is superseded, never deleted.
    """

    subject = models.CharField(max_length=300)
    attribute = models.CharField(max_length=64)
    value = models.CharField(max_length=400, null=True)
    basis = models.CharField(max_length=12)
    source = models.CharField(max_length=1000)
    checked = models.DateField()
    scope = models.CharField(max_length=200, default="", blank=True)
    provisional = models.BooleanField(default=False)
    note = models.CharField(max_length=1000, default="", blank=True)
    origin = models.CharField(max_length=100)
    statement = models.CharField(max_length=32)  # digest of all the above but `checked`
    run = models.ForeignKey("catalog.ScrapeRun", models.PROTECT, null=True, related_name="facts")
    recorded_at = models.DateTimeField()
    superseded_at = models.DateTimeField(null=True, blank=True)

    objects = FactQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["statement"], condition=Q(superseded_at=None), name="fact_stated_once"
            ),
            one_of("fact", "basis", records.Basis),
            models.CheckConstraint(
                condition=~Q(source="") & ~Q(subject="") & ~Q(origin=""), name="fact_has_a_source"
            ),
        ]
        indexes = [
            models.Index(fields=["subject", "attribute"], name="fact_by_subject"),
            models.Index(
                fields=["origin", "subject"],
                condition=Q(superseded_at=None),
                name="fact_live_by_origin",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.attribute} = {self.value}"

    @property
    def unit(self) -> str:
        """The unit of its value, as ATTRIBUTES fixes it."""
        return ATTRIBUTES[self.attribute].unit
