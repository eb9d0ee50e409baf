from __future__ import annotations

import ssl

import pytest

from vardy_worker.contracts.errors import SettingsError
from vardy_worker.queue import make_celery, sentinel_broker_url
from vardy_worker.settings import load_settings
from vardy_worker.store.address import SentinelAddress, sentinel_address
from vardy_worker.store.connection import connect, connect_async


@pytest.mark.parametrize("url", ["redis://h:1/0", "rediss://h", "unix:///run/s", "", "redis+sentinel"])
def test_an_address_of_a_server_names_no_sentinels(url: str) -> None:
    assert sentinel_address(url) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis+sentinel://h/main", SentinelAddress((("h", 26379),), "main")),
        ("redis+sentinel://a:1,b:2,[::1]:3,[fe80::2]/main/4", SentinelAddress(
            (("a", 1), ("b", 2), ("::1", 3), ("fe80::2", 26379)), "main", 4
        )),
        ("redis+sentinel://u:p%40%2F@h/main/", SentinelAddress(
            (("h", 26379),), "main", credentials={"username": "u", "password": "p@/"}
        )),
        ("redis+sentinel://:p@h/my%20main?sentinel_username=s&sentinel_password=x%26", SentinelAddress(
            (("h", 26379),), "my main", credentials={"password": "p"},
            sentinel_credentials={"username": "s", "password": "x&"},
        )),
        ("rediss+sentinel://h/main?ssl_ca_certs=/ca.pem&ssl_check_hostname=false", SentinelAddress(
            (("h", 26379),), "main",
            tls={"ssl_cert_reqs": "required", "ssl_check_hostname": False, "ssl_ca_certs": "/ca.pem"},
        )),
    ],
)  # fmt: skip
def test_an_address_of_sentinels_is_taken_apart(url: str, expected: SentinelAddress) -> None:
    assert sentinel_address(url) == expected


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis+sentinel://", "no host name"),
        ("redis+sentinel://:secret@h", "under which the Sentinels know the primary is missing"),
        ("redis+sentinel://:secret@h:1,/main", "no host name"),
        ("redis+sentinel://:secret@h:port/main", "port is no number"),
        ("redis+sentinel://:secret@h:70000/main", "port is no number"),
        ("redis+sentinel://:secret@[::1/main", "no closing bracket"),
        ("redis+sentinel://:secret@h/main/db", "database is no number"),
        ("redis+sentinel://:secret@h/main?password=secret", "no option 'password'"),
        ("redis+sentinel://:secret@h/main?ssl_ca_certs=/ca.pem", "no option 'ssl_ca_certs'"),
        ("rediss+sentinel://:secret@h/main?ssl_cert_reqs=maybe", "ssl_cert_reqs is one of"),
    ],
)
def test_a_wrong_form_stops_the_start_with_one_sentence(url: str, said: str) -> None:
    for start in (connect, connect_async, lambda given: make_celery(load_settings(redis_url=given))):
        with pytest.raises(SettingsError) as refused:
            start(url)
        message = refused.value.message
        assert message.startswith("VARDY_REDIS_URL cannot be read: ")
        assert said in message
        assert message.endswith(".")
        assert "secret" not in message
        assert "\n" not in message


@pytest.mark.parametrize("url", ["http://:secret@h", "h:6379", "redis://:secret@h:port", "redis://:secret@h/name"])
def test_what_is_no_address_of_a_server_stops_every_process_with_one_sentence(url: str) -> None:
    for start in (connect, connect_async, lambda given: make_celery(load_settings(redis_url=given))):
        with pytest.raises(SettingsError, match="VARDY_REDIS_URL is not a Redis address, such as") as refused:
            start(url)
        assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    "url", ["redis://h?secret=1", "rediss://h?ssl_cert_reqs=secret", "redis://h?ssl_keyfile=secret"]
)
def test_an_option_that_no_connection_takes_stops_every_process_with_one_sentence(url: str) -> None:
    for start in (connect, connect_async, lambda given: make_celery(load_settings(redis_url=given))):
        with pytest.raises(SettingsError, match="VARDY_REDIS_URL has an option after its `\\?` that") as refused:
            start(url)
        assert "secret" not in refused.value.message


@pytest.mark.parametrize("url", ["redis://h?max_connections=3&socket_timeout=2", "rediss://h?ssl_ca_certs=/ca.pem"])
def test_options_that_connections_or_their_pool_take_are_taken(url: str) -> None:
    connect(url).close()


def test_secrets_are_not_shown() -> None:
    address = sentinel_address("redis+sentinel://user:secret@h/main?sentinel_password=hidden")
    assert "secret" not in repr(address)
    assert "hidden" not in repr(address)


def test_the_broker_gets_every_sentinel_with_the_primarys_credentials() -> None:
    address = sentinel_address("redis+sentinel://u:p%40@a:1,[::1]:2/main/3?sentinel_password=x")
    assert address is not None
    assert sentinel_broker_url(address) == "sentinel://u:p%40@a:1/3;sentinel://u:p%40@[::1]:2/3"
    celery = make_celery(load_settings(redis_url="redis+sentinel://u:p%40@a:1,[::1]:2/main/3?sentinel_password=x"))
    options = celery.conf.broker_transport_options
    assert (options["master_name"], options["sentinel_kwargs"]["password"]) == ("main", "x")
    with celery.connection_for_write() as connection:
        assert (connection.userid, connection.password, connection.virtual_host) == ("u", "p@", "3")
        assert connection.alt == ["sentinel://u:p%40@a:1/3", "sentinel://u:p%40@[::1]:2/3"]


def test_tls_holds_for_sentinels_and_primary_of_store_and_broker() -> None:
    url = "rediss+sentinel://h/main?ssl_ca_certs=/ca.pem"
    pool = connect(url).connection_pool
    assert pool.connection_class.__name__ == "PrimaryTlsConnection"
    assert pool.connection_kwargs["ssl_ca_certs"] == "/ca.pem"
    celery = make_celery(load_settings(redis_url=url))
    sentinels = celery.conf.broker_transport_options["sentinel_kwargs"]
    assert (sentinels["ssl"], sentinels["ssl_ca_certs"], sentinels["ssl_cert_reqs"]) == (True, "/ca.pem", "required")
    with celery.connection_for_write() as connection:
        assert connection.ssl["ssl_cert_reqs"] == ssl.CERT_REQUIRED
