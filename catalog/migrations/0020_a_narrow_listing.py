"""What lists are made by stands in a narrow table, kept by triggers; a wide row is joined to it."""

from django.db import migrations

from catalog.listing_sql import DROP, create


class Migration(migrations.Migration):
    dependencies = [("catalog", "0019_prices_newest_first")]

    operations = [migrations.RunSQL(create(), DROP)]
