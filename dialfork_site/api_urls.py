from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from benchmark import api as benchmark_api
from dialfork_site.api_root import ApiRoot
from scoring import api as scoring_api

app_name = "api"


def pages(name: str, viewset: type, **verbs: str) -> list:
    """A list and a detail path of a viewset; `verbs` are what the list answers besides GET."""
    return [
        path(f"{name}/", viewset.as_view({"get": "list", **verbs}), name=f"{name}-list"),
        path(
            f"{name}/<{'slug:slug' if name == 'corpora' else 'int:pk'}>/",
            viewset.as_view({"get": "retrieve"}),
            name=f"{name}-detail",
        ),
    ]


urlpatterns = [
    path("", ApiRoot.as_view(), name="root"),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    *pages("corpora", benchmark_api.CorpusViewSet),
    *pages("workflows", benchmark_api.WorkflowViewSet),
    *pages("dialogues", benchmark_api.DialogueViewSet),
    *pages("forks", benchmark_api.ForkViewSet),
    *pages("trajectories", benchmark_api.TrajectoryViewSet),
    *pages("runs", scoring_api.RunViewSet, post="create"),
    # The same without the slash: a POST cannot be redirected.
    path(
        "runs",
        scoring_api.RunViewSet.as_view({"get": "list", "post": "create"}, schema=None),
        name="runs-without-slash",
    ),
    path("runs/<int:pk>/scores/", scoring_api.ScoreList.as_view(), name="run-scores"),
    path("runs/<int:pk>/sets/", scoring_api.SetDistanceList.as_view(), name="run-sets"),
    path(
        "runs/<int:pk>/trajectories/",
        scoring_api.TrajectoryScoreList.as_view(),
        name="run-trajectories",
    ),
    path("runs/<int:pk>/onsets/", scoring_api.OnsetAnswerList.as_view(), name="run-onsets"),
]
