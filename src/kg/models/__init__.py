"""Models, wherever they run: who provides them, what they cost, and how every call is limited, paid and written down."""
