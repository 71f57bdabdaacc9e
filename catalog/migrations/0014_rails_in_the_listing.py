"""The listing again: it has the adaptive routing of a type's fabric too."""

from django.db import migrations

from catalog import listing_sql


class Migration(migrations.Migration):
    dependencies = [("catalog", "0013_how_a_provider_is_read")]

    operations = [migrations.RunSQL(listing_sql.create(), listing_sql.DROP)]
