"""The API, client, CLI and panel of Vardy."""
