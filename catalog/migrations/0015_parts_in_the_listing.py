"""What was listed at a time is as old as the reading of its own part of the list."""

from django.db import migrations

from catalog.listing_sql import DROP, create


class Migration(migrations.Migration):
    dependencies = [("catalog", "0014_rails_in_the_listing")]

    operations = [migrations.RunSQL(create(), DROP)]
