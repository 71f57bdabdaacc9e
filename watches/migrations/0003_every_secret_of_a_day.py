"""Of the secrets before the one that is valid all of a day are kept, not the last one alone."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("watches", "0002_watch_trouble")]

    operations: ClassVar = [
        migrations.AddField("watch", "earlier", models.JSONField(default=list)),
        migrations.RunSQL(
            "update watches_watch"
            " set earlier = jsonb_build_array(jsonb_build_array(old_seed, rotated_at))"
            " where old_seed <> '' and rotated_at is not null",
            migrations.RunSQL.noop,
        ),
        migrations.RemoveField("watch", "old_seed"),
    ]
