"""How an object store is contacted: the library, the credentials, and the retries.

`obstore` is the Python binding of the Rust library object_store, which LanceDB contains as well. Unlike pyarrow.fs, it
can replace an object on the condition that nobody else has replaced it. Credentials come from the providers' usual
chain. They are passed to the libraries, and are never stored or shown. Of Amazon's chain, object_store knows only the
environment and the metadata of an instance; boto3 adds profiles, single sign-on and roles, as in LanceDB.
"""

import os
import re
from datetime import timedelta
from typing import Any

from cdesearch.errors import BucketError, InputError, extra_remedy
from cdesearch.store.place import BucketAddress

MAX_RETRIES = 8  # with back-off from 0.1 s; without a server, the attempts end after a few seconds
RETRY_SECONDS = 60
CONNECT_SECONDS = 5
KEYS_SECONDS = 600  # for which keys of a profile are used; boto3 renews temporary ones 15 minutes before their end
REQUEST_SECONDS = 120  # for a part of 5 MB of a large file
# Of the variables from which object_store reads credentials itself, those that are sufficient
_OWN_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE", "AWS_WEB_IDENTITY_TOKEN_FILE")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_URL = re.compile(r"https?://[\w.-]+(?::\d{1,5})?(?:/[!-~]*)?|https?://\[[0-9a-fA-F:.]+\](?::\d{1,5})?", re.ASCII)
_VARIABLES = {"s3": "AWS_", "az": "AZURE_"}  # how the names of variables begin whose values are sent to the server
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SETTINGS = {
    "s3": "Check the variables whose names begin with AWS_.",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS to a file with a key, or run `gcloud auth application-default login`.",
    "az": "Set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or AZURE_USE_AZURE_CLI=true.",
}


def open_store(address: BucketAddress) -> Any:
    """The store of `obstore` for the objects of an index; raises InputError if it is not installed, and BucketError."""
    try:
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise InputError(
            f"{address} is in a bucket, and the library for buckets is not installed.",
            extra_remedy("scale"),
        ) from None
    _check_variables(address)
    retries: Any = {"max_retries": MAX_RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}
    given: dict[str, Any] = {}
    if address.scheme == "s3":
        if not _has_own_credentials():
            given["credential_provider"] = _profile(address)
        given["region"] = _region()
    client: Any = {
        "allow_http": _is_plain_http(),
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    try:
        return from_url(str(address), retry_config=retries, client_options=client, **given)
    except Exception as error:  # its message may contain the value of a variable
        raise BucketError(
            f"The settings for {address} are missing or wrong ({type(error).__name__}).", _SETTINGS[address.scheme]
        ) from None


def lance_options(address: BucketAddress) -> dict[str, str]:
    """The options with which LanceDB contacts the same store. It finds the credentials itself."""
    region = {"aws_region": _region()} if address.scheme == "s3" else {}
    return {
        "client_max_retries": str(MAX_RETRIES),
        "client_retry_timeout": str(RETRY_SECONDS),
        "connect_timeout": f"{CONNECT_SECONDS}s",
        "timeout": f"{REQUEST_SECONDS}s",
        "allow_http": str(_is_plain_http()).lower(),
        **region,
    }


def _has_own_credentials() -> bool:
    return any(os.environ.get(name) for name in _OWN_CREDENTIALS)


def _profile(address: BucketAddress) -> Any:
    """What reads the credentials from a profile or the metadata of an instance, whose files object_store ignores."""
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        return Boto3CredentialProvider(ttl=timedelta(seconds=KEYS_SECONDS))
    except Exception as error:  # boto3's errors about profiles share no root with the one about their absence
        if type(error).__name__ == "ProfileNotFound":
            raise BucketError(f"There are no credentials for {address}: {error}.", "Correct AWS_PROFILE.") from None
        raise BucketError(
            f"There are no credentials for {address} ({type(error).__name__}).",
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket"
            " AWS_SKIP_SIGNATURE=true.",
        ) from None


def _region() -> str:
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region and not _has_own_credentials():
        import boto3

        region = boto3.Session().region_name
    return region or "us-east-1"


def _check_variables(address: BucketAddress) -> None:
    """Raise BucketError for a variable with a value for which object_store would panic."""
    for name in _ENDPOINTS:
        if os.environ.get(name) and not _URL.fullmatch(os.environ[name]):
            raise BucketError(
                f"The variable {name} is not the URL of a server.", "Write one such as https://s3.example.com."
            )
    for name, value in os.environ.items():
        if address.scheme in _VARIABLES and name.startswith(_VARIABLES[address.scheme]) and _CONTROL.search(value):
            raise BucketError(
                f"The variable {name} contains a line break or another control character.", "Set it without one."
            )


def _is_plain_http() -> bool:
    """Whether the user has named a server without encryption, such as one on this computer."""
    return any(os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS)
