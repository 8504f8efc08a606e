"""Steps: flushes that are due now, committed together or not at all."""
