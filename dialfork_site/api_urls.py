from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from benchmark import api as benchmark_api
from dialfork_site.api_root import ApiRoot
from scoring import api as scoring_api

app_name = "api"


def pages(name: str, viewset: type) -> list:
    """A list and a detail path of a read-only viewset."""
    return [
        path(f"{name}/", viewset.as_view({"get": "list"}), name=f"{name}-list"),
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
    *pages("runs", scoring_api.RunViewSet),
    path("runs/<int:pk>/scores/", scoring_api.ScoreList.as_view(), name="run-scores"),
]
