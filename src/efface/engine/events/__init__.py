"""One event at a time: a row is predicted, learned or dropped; coefficients on demand."""
