"""The newest prices of all offers are found by an index."""

from django.db import migrations, models
from django.db.models import F


class Migration(migrations.Migration):
    dependencies = [("catalog", "0018_titles_are_left_unread")]

    operations = [
        migrations.AddIndex(
            model_name="price",
            index=models.Index(F("valid_from").desc(nulls_last=True), "id", name="price_newest"),
        )
    ]
