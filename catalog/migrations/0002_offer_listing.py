"""The listing of offers, now and at any time: a view and a function of one shape."""

from django.db import migrations

from catalog import listing_sql


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_catalog")]

    operations = [migrations.RunSQL(listing_sql.create(), listing_sql.DROP)]
