"""One way in, for Python users: posteriors, a model and inputs go in, a checked result comes out."""
