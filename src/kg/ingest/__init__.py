"""From a document to what the graph stores."""
