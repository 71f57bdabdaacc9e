"""What a provider says of a region stands before what it says of the whole type."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0015_parts_in_the_listing")]

    operations = [
        migrations.AddField("instancetype", "by_region", models.JSONField(null=True)),
        # The listing is made by the newest migration that runs `listing_sql`.
    ]
