app_name = "benchmark"
urlpatterns: list = []
