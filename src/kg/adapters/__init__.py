"""The platform for other people's code: its search as a retriever."""
