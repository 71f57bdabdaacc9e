"""Estimates are kept by what they rest on: types of equal hardware share one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("catalog", "0002_offer_listing")]

    operations = [
        migrations.DeleteModel(name="Estimate"),
        migrations.CreateModel(
            name="Estimate",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("gpus", models.IntegerField()),
                ("model_version", models.CharField(max_length=64)),
                ("result", models.JSONField()),
                ("computed_at", models.DateTimeField()),
                (
                    "workload",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="estimates",
                        to="catalog.workload",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("gpus__gt", 0)), name="estimate_of_at_least_one_gpu"
                    )
                ],
            },
        ),
    ]
