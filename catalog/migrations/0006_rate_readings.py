"""Each reading of the exchange rates is kept for a while, with its answer and what became of it."""

from django.db import migrations, models

STATES = ["reading", "accepted", "unchanged", "refused", "failed"]


class Migration(migrations.Migration):
    dependencies = [("catalog", "0005_fabrics_by_gpu")]

    operations = [
        migrations.CreateModel(
            "RateReading",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False,
                                           verbose_name="ID")),
                ("state", models.CharField(default="reading", max_length=12)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("day", models.DateField(null=True)),
                ("body", models.BinaryField(default=b"")),
                ("begun_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(state__in=STATES), name="rate_reading_state_is_known"
                    )
                ],
                "indexes": [models.Index(fields=["-begun_at"], name="rate_reading_latest")],
            },
        ),
    ]  # fmt: skip
