"""Real numbers on a computer: rounding, enclosures, the normal distribution, boxes."""
