"""Lists are made by columns in memory, which a revision of the listing keeps right.

The narrow table goes, with the triggers that kept it.
"""

from django.db import migrations, models

from catalog.listing_sql import create

# As 0021 left it. What old code analyzes and compares is a view for a release.
NARROW = """
drop function if exists listing_is_emptied() cascade;
drop function if exists listing_follows_truncate() cascade;
drop function if exists listing_follows_offer() cascade;
drop function if exists listing_follows_instancetype() cascade;
drop function if exists listing_follows_region() cascade;
drop function if exists listing_follows_country() cascade;
drop function if exists bring_listing_up_to_date(bigint[]);
drop view if exists offer_listing cascade;
drop table if exists catalog_listing;
"""
OF_BEFORE = """
create view catalog_listing as select
  offer_id, instance_type_id, row_key, outdated_at, available, gpu_count, gpu_memory_gb,
  total_gpu_memory_gb, domain_gpu_memory_gb, nvlink_domain_gpus, scale_up_domain_gpus,
  nvlink_generation, scale_up_gbytes_per_s, fabric_gbits_per_s, fabric_gbits_per_s_per_gpu,
  max_gpus_on_one_fabric, price_model, usd_per_gpu_hour, usd_per_hour, gpu, scale_up, fabric,
  gpudirect_rdma, provider, country, continent, region, tier, via, gpu_vendor, form_factor,
  gpudirect, sharp, multi_node, instance_type
from offer_listing;
"""


class Migration(migrations.Migration):
    dependencies = [("catalog", "0021_one_writes_at_a_time")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # The code of before reads on from the view as it is.
            [migrations.RunSQL(f"{NARROW}{create()}{OF_BEFORE}", migrations.RunSQL.noop)],
            [migrations.AddField("catalogversion", "revision", models.UUIDField(null=True))],
        )
    ]
