"""Credentials are hidden in addresses and confs, whatever else these hold."""

from __future__ import annotations

import pytest

from aqe_plugin.conf.credentials import conf_without_secrets, without_credentials, without_secret_value


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
            "https://h/x.jar;v=1;sig=S3CRET;se=2",
            "https://h/x.jar;v=1;sig=(hidden);se=2",
        ),
        ("sc://spark:15002/;token=S3CRET;user_id=ann@corp", "sc://spark:15002/;token=(hidden);user_id=ann@corp"),
        ("jdbc:sqlserver://h:1433;user=a;Password=S3CRET", "jdbc:sqlserver://h:1433;user=a;Password=(hidden)"),
        ("https://user:S3 CRET@h/x.jar, ask ann@corp", "https://(hidden)@h/x.jar, ask ann@corp"),
        ("https://user:S3  C@RET@h/x.jar", "https://(hidden)@h/x.jar"),
        (
            "-Xmx1g -Djavax.net.ssl.keyStorePassword=S3CRET -Da=b",
            "-Xmx1g -Djavax.net.ssl.keyStorePassword=(hidden) -Da=b",
        ),
        ('"-Da=b -Dmy.token=S3"CRET",', '"-Da=b -Dmy.token=(hidden)",'),
        ("-Dmy.secret='S3 CRET' -Da=b", "-Dmy.secret=(hidden) -Da=b"),
        (
            "https://a:S3CRET@h/a.jar,https://h:8443/b.jar,/opt/c@1.jar,s3a://b:S3CRET@b/d.jar",
            "https://(hidden)@h/a.jar,https://h:8443/b.jar,/opt/c@1.jar,s3a://(hidden)@b/d.jar",
        ),
    ],
)
def test_user_password_and_query_of_an_address_are_hidden(text: str, shown: str | None) -> None:
    found = without_credentials(text)
    assert not any(part in found for part in ("S3", "CRET", "RET@"))
    assert shown is None or without_credentials(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "https://h:8443/a@1.jar",
        "hdfs://nn:8020/user/ann@EXAMPLE.COM/x.jar",
        "sc://spark:15002/;session_id=0c0a7e5e;user_id=ann@corp",
        "https://h:8443 does not answer, ask ann@corp",
        "https://h: does not answer, ask ann@corp",
        "-Da.passwords.file -Dspark.tokens",
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


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["my.password \\", "  S3\\", "CRET", "a b"], ["my.password (hidden)", "(hidden)", "(hidden)", "a b"]),
        (["my.password S3\\", "CRET"], ["my.password (hidden)", "(hidden)"]),
        (["my.pass\\", "word S3CRET"], ["my.pass\\ (hidden)", "(hidden)"]),
        (["spark.jars https://ann:S3\\", "CRET@h/x.jar"], ["spark.jars (hidden)", "(hidden)"]),
        (["o -Da=b \\", "-Dmy.password=S3CRET"], ["o (hidden)", "(hidden)"]),
        (["spark.jars a.jar,\\", "  b.jar"], ["spark.jars a.jar,\\", "  b.jar"]),
        # Neither of these goes on in the next line.
        (["# my.password \\", "a b"], ["# my.password \\", "a b"]),
        (["my.password S3\\\\", "a b"], ["my.password (hidden)", "a b"]),
        (["my.password S3\\"], ["my.password (hidden)"]),
    ],
)
def test_a_value_that_goes_on_in_the_next_line_is_hidden_there_too(lines: list[str], shown: list[str]) -> None:
    assert conf_without_secrets(lines) == shown


def test_a_long_value_costs_no_more_than_its_length() -> None:
    text = "a" * 2_000_000 + ":" + ",b" * 500_000
    assert without_credentials(text) == text
    assert conf_without_secrets(["a \\"] * 100_000) == ["a \\"] * 100_000
    for begun in ("https://a:b " * 50_000, "-Dtoken" * 50_000, "a:/" + ";token" + "token" * 100_000):
        assert without_credentials(begun) == begun
