"""Laboratory values and measurements: analyte, value, unit and range in a text, judged and turned into findings."""
