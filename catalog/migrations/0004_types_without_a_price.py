"""A known type of which no price was found is listed, and gives way to any offer of it."""

from django.db import migrations

from catalog import listing_sql


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_estimates_by_digest")]

    operations = [migrations.RunSQL(listing_sql.create(), listing_sql.DROP)]
