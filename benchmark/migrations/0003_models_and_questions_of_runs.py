from django.db import migrations


def fill(apps, schema_editor):
    runs = apps.get_model("benchmark", "Trajectory").objects
    filled = []
    for run in runs.only("id", "meta").iterator():
        run.model = str(run.meta.get("model") or "")[:200]
        run.question = str(run.meta.get("question") or "")[:200]
        filled.append(run)
    runs.bulk_update(filled, ["model", "question"], batch_size=500)


class Migration(migrations.Migration):
    """Model and question of a run stood among its other data only."""

    dependencies = [("benchmark", "0002_labels_of_runs")]
    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
