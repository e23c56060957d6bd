"""Files that the window shows: icons, themes, examples."""
