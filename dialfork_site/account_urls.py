from django.contrib.auth import views as auth_views
from django.urls import path

from dialfork_site.login import ThrottledLogin

urlpatterns = [
    path(
        "login/",
        ThrottledLogin.as_view(),
        name="login",
    ),
    path("logout/", auth_views.LogoutView.as_view(), name="logout"),
]
