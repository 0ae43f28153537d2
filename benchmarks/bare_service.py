"""A bare FastAPI route for comparison: parses the body of a prediction and answers a constant."""

from __future__ import annotations

import sys

import uvicorn
from fastapi import FastAPI

from efface.service.bodies import Questions

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


@app.post("/predictions")
async def predict(body: Questions) -> dict[str, object]:
    """The same answer for every body."""
    return {"predictions": [1.0], "commit": 1}


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_config=None)
