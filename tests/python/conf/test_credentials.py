"""Credentials are hidden in addresses and confs, whatever else these hold."""

from __future__ import annotations

import pytest

from aqe_plugin.conf.credentials import without_credentials, without_secret_value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:S3CRET@h/x.jar", "https://(hidden)@h/x.jar"),
        ("HTTPS://S3CRET@h/x", "HTTPS://(hidden)@h/x"),
        ("https:/user:S3CRET@h/x.jar", "https:/(hidden)@h/x.jar"),
        ("s3a://AKIA:ab/cd+S3CRET@bucket/x.jar", "s3a://(hidden)@bucket/x.jar"),
        ("https://user:S3#CRET@h/x.jar", "https://(hidden)@h/x.jar"),
        ("https://user:S3?CRET@h/x.jar", "https://(hidden)@h/x.jar"),
        ("https://user:S3,CRET@h/x.jar", "https://(hidden)@h/x.jar"),
        ("https://user:S3@CRET@h/x.jar", "https://(hidden)@h/x.jar"),
        (
            "https://h/x.jar?X-Amz-Credential=AK&X-Amz-Signature=S3CRET",
            "https://h/x.jar?X-Amz-Credential=(hidden)&X-Amz-Signature=(hidden)",
        ),
        ("https://acc.blob.core.windows.net/c/x.jar?sig=S3CRET&se=1", None),
        ("https://h/x.jar#access_token=S3CRET", "https://h/x.jar#access_token=(hidden)"),
        (
            "https://a:S3CRET@h/a.jar,https://h:8443/b.jar,/opt/c@1.jar,s3a://b:S3CRET@b/d.jar",
            "https://(hidden)@h/a.jar,https://h:8443/b.jar,/opt/c@1.jar,s3a://(hidden)@b/d.jar",
        ),
    ],
)
def test_user_password_and_query_of_an_address_are_hidden(text: str, shown: str | None) -> None:
    assert "S3CRET" not in without_credentials(text)
    assert shown is None or without_credentials(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://h:8443/a@1.jar",
        "hdfs://nn:8020/user/ann@EXAMPLE.COM/x.jar",
        "sc://spark:15002/;session_id=0c0a7e5e;user_id=ann@corp",
        "/conf/a.jar:/opt/b.jar, ann@host says: no",
        "kubernetes:spark/configmap/conf",
    ],
)
def test_what_has_no_credentials_is_left_alone(text: str) -> None:
    assert without_credentials(text) == text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (" spark.hadoop.fs.s3a.secret.key S3CRET", " spark.hadoop.fs.s3a.secret.key (hidden)"),
        ("spark.ssl.keyPassword = S3 CRET", "spark.ssl.keyPassword = (hidden)"),
        ('    "fs.azure.account.key.x": "S3CRET"', '    "fs.azure.account.key.x": (hidden)'),
        ("fs.s3a.access.key=S3CRET", "fs.s3a.access.key=(hidden)"),
        ("spark.aqePlugin.mode observe", "spark.aqePlugin.mode observe"),
        ("# no secret", "# no secret"),
    ],
)
def test_the_value_of_a_key_that_is_named_as_a_secret_is_hidden(line: str, shown: str) -> None:
    assert without_secret_value(line) == shown


def test_a_long_value_costs_no_more_than_its_length() -> None:
    text = "a" * 2_000_000 + ":" + ",b" * 500_000
    assert without_credentials(text) == text
