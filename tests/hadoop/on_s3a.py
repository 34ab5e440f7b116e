"""Event logs behind ``s3a://``: Hadoop's client against moto, a server that speaks S3; run by `make test-s3a`."""

from __future__ import annotations

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from aqe_plugin.errors import EventLogError
from aqe_plugin.logs import FolderFollower
from aqe_plugin.logs.hadoop import HadoopFiles, opened_hadoop_files
from samples import log_bytes, query_lines

BUILD = Path(__file__).resolve().parents[2] / ".build" / "s3a"
PATIENCE_SECONDS = 60


class Bucket:
    """A bucket ``logs`` of a server on this machine."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.put("")

    def put(self, key: str, data: bytes = b"") -> None:
        # moto asks for a signature, and believes it.
        signed = "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
        headers = {"Authorization": signed, "Content-Type": "application/octet-stream"}
        request = urllib.request.Request(f"{self.url}/logs/{key}".rstrip("/"), data, headers, method="PUT")
        with urllib.request.urlopen(request, timeout=30):
            pass


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """The bucket, and a conf folder of Spark with the client's jars and the password in it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    conf = tmp_path / "conf"
    conf.mkdir()
    jars = ",".join(map(str, sorted((BUILD / "jars").glob("*.jar"))))
    (conf / "spark-defaults.conf").write_text(
        f"spark.jars {jars}\nspark.hadoop.fs.s3a.access.key a\nspark.hadoop.fs.s3a.secret.key b\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    command = [str(BUILD / "venv" / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", url.rpartition(":")[2]]
    with (tmp_path / "said.txt").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as server:
        try:
            yield _begun(url)
        finally:
            server.kill()


def _begun(url: str) -> Bucket:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return Bucket(url)
        except urllib.error.URLError:
            assert time.monotonic() < end
            time.sleep(0.1)


def test_logs_are_found_read_and_read_on_with_the_password_of_sparks_conf(bucket: Bucket, tmp_path: Path) -> None:
    bucket.put("ev/app-1", log_bytes(*(query_lines(number) for number in range(1000))))
    bucket.put("ev/eventlog_v2_app-2/events_1_app-2", log_bytes(query_lines(1)))
    bucket.put("ev/eventlog_v2_app-2/appstatus_app-2")
    where = {
        "fs.s3a.endpoint": bucket.url,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
    }
    with opened_hadoop_files("s3a://logs/ev", where, tmp_path / "spool") as files:
        follower = FolderFollower(files)

        def records() -> int:
            return sum(len(list(read)) for _, read in follower.poll())

        assert records() == 2 * 1000 + 1 + 2 + 1
        assert records() == 0
        bucket.put("ev/app-3", log_bytes(query_lines(1)))
        assert records() == 3
        with pytest.raises(EventLogError, match=r"^s3a://other/ev: cannot be read \(there is no such bucket\)\.$"):
            HadoopFiles("s3a://other/ev", files._jvm, tmp_path).find()
