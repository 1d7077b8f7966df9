"""What is verified: networks of layers, and properties of them."""
