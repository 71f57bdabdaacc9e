"""A list that shows nothing of a provider need not read any: outer joins can be left out."""

from django.db import migrations

from catalog.listing_sql import DROP, create


class Migration(migrations.Migration):
    dependencies = [("catalog", "0017_finished_answers")]

    operations = [migrations.RunSQL(create(), DROP)]
