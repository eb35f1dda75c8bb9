from django.urls import path

from benchmark.views import corpora, dialogue_lists, dialogue_pages, trajectories, workflows

app_name = "benchmark"
urlpatterns = [
    path("corpora/", corpora.corpora, name="corpora"),
    path("corpora/<slug:slug>/", corpora.corpus, name="corpus"),
    path("corpora/<slug:slug>/workflows/<str:name>/", workflows.workflow, name="workflow"),
    path("corpora/<slug:slug>/dialogues/", dialogue_lists.dialogues, name="dialogues"),
    path("corpora/<slug:slug>/trajectories/", trajectories.trajectories, name="trajectories"),
    path("dialogues/<int:pk>/", dialogue_pages.dialogue, name="dialogue"),
    path("trajectories/<int:pk>/", trajectories.trajectory, name="trajectory"),
]
