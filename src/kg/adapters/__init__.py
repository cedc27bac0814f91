"""Parts of the platform for other code that retrieves and generates. Nothing of theirs is imported."""
