"""What lists are made by stands in a narrow table, kept by triggers; a wide row is joined to it."""

from django.db import migrations

from catalog.listing_sql import create


class Migration(migrations.Migration):
    dependencies = [("catalog", "0019_prices_newest_first")]

    # The code of before reads on from the view as it is.
    operations = [migrations.RunSQL(create(), migrations.RunSQL.noop)]
