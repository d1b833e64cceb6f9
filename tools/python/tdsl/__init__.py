"""TDSL for Python."""
