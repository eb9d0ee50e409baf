"""The HTTP surface: routes, authentication, problem documents, middleware."""
