"""Warehouses that are on no disk: in S3 and in HDFS."""
