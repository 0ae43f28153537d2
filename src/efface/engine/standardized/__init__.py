"""The same on features standardised by the mean and deviation of the rows at hand."""
