"""Of a provider whose prices are not read from its own API, how they are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0012_regions_of_a_continent")]

    operations = [
        migrations.AddField(
            "provider", "how", models.CharField(blank=True, db_default="", max_length=300)
        ),
    ]
