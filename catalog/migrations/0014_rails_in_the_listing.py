"""The listing again: it has the adaptive routing of a type's fabric too."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("catalog", "0013_how_a_provider_is_read")]

    # Made by the newest migration that runs `listing_sql`: its text needs the columns of then.
    operations: list[object] = []
