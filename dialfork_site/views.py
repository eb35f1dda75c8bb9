from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dialfork_site.roles import annotator_may_see


@annotator_may_see
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")
