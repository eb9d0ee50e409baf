"""The use cases of Vardy: the one set behind HTTP, command line and panel."""
