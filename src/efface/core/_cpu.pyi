level: str
