from lanework import Context, Lanework

app = Lanework()  # LANEWORK_DSN, or an embedded PostgreSQL


@app.job(lane="interactive", max_tries=5, timeout=60)
def greet(ctx: Context, name: str) -> str:
    return f"Hello, {name}!"


if __name__ == "__main__":
    print(greet.submit("Ada").result(timeout=60))
