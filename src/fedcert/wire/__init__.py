"""What crosses between client, server and auditor, as torch objects; the formats are the checker's."""
