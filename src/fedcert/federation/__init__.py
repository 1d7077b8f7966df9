"""The federation in one process: clients, server, acceptance of messages, estimates."""
