"""
A pytest plugin for the test suites that vendors ship with their SDKs. Those tests send every parameter there is, with an API key of their own.

Each request is sent as the test makes it, with a key of the gateway. If the response is a documented refusal, the plugin records it, leaves
out what is refused and sends the request again, so that one refusal does not hide the next one. Any other error reaches the test. The
report has one line of JSON for each test.
"""

import base64
import importlib
import json
import os

import pytest

SDK = os.environ["FAREGATE_SDK"]
API_KEY = os.environ["FAREGATE_KEY"]
REPORT = os.environ["FAREGATE_REPORT"]
REFUSALS = json.loads(os.environ["FAREGATE_REFUSALS"])
PICTURE = base64.b64decode(os.environ["FAREGATE_PICTURE"])

module = importlib.import_module(SDK)
clients = importlib.import_module(SDK + "._base_client")
model_copy = importlib.import_module(SDK + "._compat").model_copy

#: Names of the refusals in the current test.
seen = []


def refusal_of(error):
    """The name of the documented refusal; None if the error is not one."""
    try:
        details = error.response.json()["error"]
    except (ValueError, TypeError, KeyError):
        return None
    for name, refusal in REFUSALS.items():
        if (
            refusal["status"] == error.status_code
            and refusal["code"] == error.response.headers.get("x-error-code")
            and details["message"].startswith(refusal.get("says", ""))
            and refusal.get("param") in (None, details.get("param"))
        ):
            return name
    return None


def leave_out(members, path):
    name, _, rest = path.partition(".")
    if not isinstance(members, dict) or name not in members:
        return members
    if rest:
        return {**members, name: leave_out(members[name], rest)}
    return {key: value for key, value in members.items() if key != name}


def mended(options, refusal):
    """The request without what is refused; None if the request does not change."""
    body, query, files = options.json_data, options.params, options.files
    for path in refusal.get("leaveOut", []):
        body, query = leave_out(body, path), leave_out(query, path)
    if "put" in refusal:
        body = {**(body or {}), **refusal["put"]}
    if "picture" in refusal:
        files = [(name, PICTURE if name == refusal["picture"] else content) for name, content in files or []]
    if (body, query, files) == (options.json_data, options.params, options.files):
        return None
    changed = model_copy(options)
    changed.json_data, changed.params, changed.files = body, query, files
    return changed


def next_try(error, options):
    """The request to send after an error; None if the error is for the test."""
    name = refusal_of(error)
    if name is None:
        return None
    seen.append(name)
    return mended(options, REFUSALS[name])


def wrap(client):
    send = client.request

    def request(self, cast_to, options, **more):
        self.api_key = API_KEY
        while True:
            try:
                return send(self, cast_to, options, **more)
            except module.APIStatusError as error:
                options = next_try(error, options)
                if options is None:
                    raise

    client.request = request


def wrap_async(client):
    send = client.request

    async def request(self, cast_to, options, **more):
        self.api_key = API_KEY
        while True:
            try:
                return await send(self, cast_to, options, **more)
            except module.APIStatusError as error:
                options = next_try(error, options)
                if options is None:
                    raise

    client.request = request


wrap(clients.SyncAPIClient)
wrap_async(clients.AsyncAPIClient)


def pytest_runtest_setup():
    seen.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or not report.passed:
        error = None if call.excinfo is None else str(call.excinfo.value)
        result = {"id": item.nodeid, "outcome": report.outcome, "refusals": list(seen), "error": error}
        with open(REPORT, "a", encoding="utf-8") as lines:
            lines.write(json.dumps(result) + "\n")
    return report
