"""`box` events: mean-centred boxes, each as large as possible while its image can be verified."""
