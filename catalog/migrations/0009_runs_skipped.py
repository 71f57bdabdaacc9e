"""A provider whose key is not set is skipped, which is neither a failure nor a confirmation."""

from django.db import migrations, models

STATES = [
    "running", "published", "unchanged", "held", "rejected", "skipped", "failed", "superseded",
]  # fmt: skip
KNOWN = "scrape_run_state_is_known"


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_rulings")]

    operations = [
        migrations.RemoveConstraint("scraperun", KNOWN),
        migrations.AddConstraint(
            "scraperun",
            models.CheckConstraint(condition=models.Q(state__in=STATES), name=KNOWN),
        ),
    ]
