"""The start of the API: JSON for programs, a page for people."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer, TemplateHTMLRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

PARTS = ("corpora", "workflows", "dialogues", "forks", "trajectories", "runs")


class ApiRoot(APIView):
    """Addresses of everything the API holds."""

    renderer_classes = [JSONRenderer, TemplateHTMLRenderer]

    @extend_schema(responses={200: {"type": "object", "additionalProperties": {"type": "string"}}})
    def get(self, request: Request) -> Response:
        links = {name: reverse(f"api:{name}-list", request=request) for name in PARTS}
        links["schema"] = reverse("api:schema", request=request)
        if request.accepted_renderer.format == "html":
            return Response({"links": links}, template_name="api/root.html")
        return Response(links)
