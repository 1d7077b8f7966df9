"""Reports: rows of results in, tables, figures and pages out."""
