"""Training: data in, a posterior law out."""
