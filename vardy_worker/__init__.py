"""The worker of Vardy, and the shared half that its API builds on."""
