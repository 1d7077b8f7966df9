"""Reports: tables, figures and pages made from the results of runs."""
