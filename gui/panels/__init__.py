"""Views of the document, one a dock."""
