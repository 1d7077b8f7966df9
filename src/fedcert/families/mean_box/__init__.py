"""`box` events: mean-centred boxes, each as large as its image can be verified."""
