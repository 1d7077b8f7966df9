"""Certificates: Algorithm 1 and direct certification."""
