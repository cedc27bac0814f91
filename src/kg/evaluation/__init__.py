"""`kg eval`: how good the local models and rules are, on documents and questions that people have annotated."""
