"""A region may be known by its continent alone; an offer of none gives way to those of regions."""

from django.db import migrations, models

class Migration(migrations.Migration):
    dependencies = [("catalog", "0011_offers_have_room")]

    operations = [
        migrations.AddField(
            "region", "continent", models.CharField(blank=True, max_length=32, null=True)
        ),
        # The listing is made by the newest migration that runs `listing_sql`.
    ]
