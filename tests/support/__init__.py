"""Builders and fakes that several test folders share."""
