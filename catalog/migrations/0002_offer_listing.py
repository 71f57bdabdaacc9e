"""The listing of offers, now and at any time: a view and a function of one shape."""

from django.db import migrations

from catalog.listing_sql import DROP


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_catalog")]

    # Made by the newest migration that runs `listing_sql`: its text needs the columns of then.
    operations = [migrations.RunSQL(migrations.RunSQL.noop, DROP)]
