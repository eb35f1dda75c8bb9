from django.contrib.auth import views as auth_views
from django.urls import path

from dialfork_site.login import ThrottledLogin
from dialfork_site.roles import annotator_may_see

urlpatterns = [
    path("login/", annotator_may_see(ThrottledLogin.as_view()), name="login"),
    path("logout/", annotator_may_see(auth_views.LogoutView.as_view()), name="logout"),
]
