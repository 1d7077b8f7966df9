"""The paper's evaluation, and ours beside it: its grid, tables, figures and quotes, made with fedcert."""
