"""What people decide: of rows, of words, of runs; and what a gate doubts."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0007_cross_checks"),
    ]

    operations = [
        migrations.CreateModel(
            name="Alias",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("words", models.CharField(max_length=200)),
                ("target", models.CharField(max_length=200)),
                ("taught_by", models.CharField(max_length=150)),
                ("taught_at", models.DateTimeField(db_default=Now())),
            ],
            options={
                "verbose_name_plural": "aliases",
            },
        ),
        migrations.CreateModel(
            name="Errand",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=8)),
                ("asked_by", models.CharField(max_length=150)),
                ("asked_at", models.DateTimeField(db_default=Now())),
                ("taken_at", models.DateTimeField(null=True)),
                ("done_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, max_length=1000)),
            ],
        ),
        migrations.CreateModel(
            name="Ruling",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=32)),
                ("verdict", models.CharField(max_length=8)),
                ("gate", models.CharField(max_length=16)),
                ("reason", models.CharField(max_length=1000)),
                ("row", models.TextField(blank=True)),
                ("decided_by", models.CharField(max_length=150)),
                ("decided_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="scraperun",
            name="scrape_run_state_is_known",
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="about",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="collected_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="gate",
            field=models.CharField(default="unreadable", max_length=16),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="key",
            field=models.CharField(default="", max_length=32),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="native_amount",
            field=models.DecimalField(decimal_places=8, max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="native_currency",
            field=models.CharField(max_length=3, null=True),
        ),
        migrations.AddField(
            model_name="quarantinedrow",
            name="offer",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="catalog.offer",
            ),
        ),
        migrations.AddField(
            model_name="scraperun",
            name="decided_by",
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.AddField(
            model_name="scraperun",
            name="replay_of",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="replays",
                to="catalog.scraperun",
            ),
        ),
        migrations.AddConstraint(
            model_name="quarantinedrow",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "gate__in",
                        [
                            "price_band",
                            "price_jump",
                            "price_order",
                            "two_prices",
                            "unknown_gpu",
                            "figures",
                            "unreadable",
                            "unfit",
                        ],
                    )
                ),
                name="quarantined_row_gate_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="scraperun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "running",
                            "published",
                            "unchanged",
                            "held",
                            "rejected",
                            "failed",
                            "superseded",
                        ],
                    )
                ),
                name="scrape_run_state_is_known",
            ),
        ),
        migrations.AddField(
            model_name="alias",
            name="provider",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="aliases",
                to="catalog.provider",
            ),
        ),
        migrations.AddField(
            model_name="errand",
            name="run",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="errands",
                to="catalog.scraperun",
            ),
        ),
        migrations.AddField(
            model_name="ruling",
            name="provider",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rulings",
                to="catalog.provider",
            ),
        ),
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["gpu", "region"])), name="alias_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="alias",
            constraint=models.UniqueConstraint(
                fields=("kind", "provider", "words"), name="alias_once", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="errand",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["replay", "approve"])), name="errand_kind_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="errand",
            constraint=models.UniqueConstraint(
                condition=models.Q(("done_at", None), ("taken_at", None)),
                fields=("run", "kind"),
                name="errand_waits_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.CheckConstraint(
                condition=models.Q(("verdict__in", ["accepted", "rejected"])),
                name="ruling_verdict_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.UniqueConstraint(fields=("provider", "key"), name="ruling_once"),
        ),
    ]
