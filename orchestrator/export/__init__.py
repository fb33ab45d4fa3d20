"""Results in the forms that other programs and people take."""
