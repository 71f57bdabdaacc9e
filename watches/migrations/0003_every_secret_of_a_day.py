"""Of the secrets before the one that is valid all of a day are kept, not the last one alone."""

from typing import ClassVar

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies: ClassVar = [("watches", "0002_watch_trouble")]

    operations: ClassVar = [
        migrations.AddField("watch", "earlier", models.JSONField(db_default=[], default=list)),
        migrations.RunSQL(
            "update watches_watch"
            " set earlier = jsonb_build_array(jsonb_build_array(old_seed, rotated_at))"
            " where old_seed <> '' and rotated_at is not null",
            migrations.RunSQL.noop,
        ),
        # The column goes with the release after this one: until then code of before may run.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.RemoveField("watch", "old_seed")],
            database_operations=[
                migrations.RunSQL(
                    "alter table watches_watch alter column old_seed set default ''",
                    migrations.RunSQL.noop,
                )
            ],
        ),
    ]
