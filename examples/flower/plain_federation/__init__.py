"""The same federation before it was certified: means of posteriors, averaged by Flower's FedAvg."""
