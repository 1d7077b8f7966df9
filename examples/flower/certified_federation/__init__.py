"""A federation over Flower whose aggregate comes with a certificate."""
