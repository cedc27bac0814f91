"""From a document to what is stored of it."""
