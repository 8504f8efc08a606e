"""The tests of slackwater."""
