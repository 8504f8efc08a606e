"""The command `slackwater`."""
