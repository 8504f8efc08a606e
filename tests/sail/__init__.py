"""Tests that need Sail, which starts in a second."""
