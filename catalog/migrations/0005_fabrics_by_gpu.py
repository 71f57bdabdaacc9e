"""A fabric is of one GPU, and says whether it can be had without asking."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_types_without_a_price")]

    operations = [
        migrations.AddField("fabric", "gpu", models.CharField(blank=True, max_length=64, null=True)),
        migrations.AddField(
            "fabric", "multi_node", models.CharField(blank=True, max_length=12, null=True)
        ),
        migrations.AddConstraint(
            "fabric",
            models.CheckConstraint(
                condition=models.Q(multi_node__in=["self_serve", "reservation", "no"]),
                name="fabric_multi_node_is_known",
            ),
        ),
    ]
