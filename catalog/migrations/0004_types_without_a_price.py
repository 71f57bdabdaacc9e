"""A known type of which no price was found is listed, and gives way to any offer of it."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_estimates_by_digest")]

    # Made by the newest migration that runs `listing_sql`: its text needs the columns of then.
    operations: list[migrations.RunSQL] = []
