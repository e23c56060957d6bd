"""Dialogs: open a model, shortcuts, settings."""
