"""Small programs that show what slackwater does."""
