"""Widgets that know how to draw and nothing of where the data comes from."""
