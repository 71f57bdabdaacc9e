"""An aggregator's offer of a seller that is read directly is a cross-check, and is not listed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0006_rate_readings")]

    # The listing is made by the newest migration that runs `listing_sql`.
    operations = [
        migrations.AddField("offer", "cross_check", models.BooleanField(db_default=False)),
        migrations.AddIndex(
            "offer",
            models.Index(
                fields=["instance_type"],
                condition=models.Q(via__isnull=False),
                name="offer_through_another",
            ),
        ),
    ]
