"""Tests that need a Spark in a JVM."""
