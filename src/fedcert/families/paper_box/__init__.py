"""`paper-box` events: the paper's boxes around posterior samples."""
