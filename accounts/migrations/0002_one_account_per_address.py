"""Two users never share an e-mail address, however it is written; staff may have none."""

from django.db import migrations

INDEX = """
create unique index accounts_one_user_per_address on auth_user (lower(email)) where email <> ''
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_tokens"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunSQL(INDEX, "drop index accounts_one_user_per_address")]
