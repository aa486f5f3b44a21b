"""Cases written by hand: the shape of requests, and checks that read more than one key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.equivalence.cases import BROKER, GROUP, LOGGER, METRICS, TOPIC, Case, change
from tests.equivalence.configurations import OTHER_TOPIC
from tests.equivalence.configurations import TOPIC as ORDERS

from doorkeeper.rules.config_change import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.rules.config_change import ResourceChange

SET, DELETE, APPEND, SUBTRACT = Operation.SET, Operation.DELETE, Operation.APPEND, Operation.SUBTRACT
HERE = "PLAINTEXT://127.0.0.1:@BROKER@"
CONTROLLER = "CONTROLLER://127.0.0.1:@CONTROLLER@"
BOTH = f"{HERE},{CONTROLLER}"
MAP = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"


def _shapes() -> Iterator[tuple[ResourceChange, ...]]:
    """The request itself, whatever it asks for."""
    for resource_type, name, key in (
        (BROKER, "1", "num.io.threads"),
        (BROKER, "", "log.retention.ms"),
        (TOPIC, ORDERS, "retention.ms"),
        (GROUP, "readers", "consumer.session.timeout.ms"),
        (METRICS, "subscription", "interval.ms"),
        (LOGGER, "1", "kafka"),
        (0, "x", "a"),
        (1, "x", "a"),
        (99, "", "a"),
        (-1, "x", "a"),
    ):
        yield (change(resource_type, name, (key, None)),)
        yield (change(resource_type, name, (key, None, APPEND), ("b", None), ("c", None, DELETE)),)
        yield (change(resource_type, name, (key, "46000"), (key, "46000")),)
        yield (change(resource_type, name, (key, "8"), (key, None)),)
        yield (change(resource_type, name, (key, "46000")), change(resource_type, name, (key, "46001")))
        yield (change(resource_type, name, (key, None)), change(resource_type, name, (key, "1")), change(TOPIC, ORDERS))
        yield (change(resource_type, name, (key, "46000", 4)),)
        yield (change(resource_type, name, (key, "46000", -1)),)
        yield (change(resource_type, name, (key, None, 9)),)
        yield (change(resource_type, name),)
        yield (change(resource_type, name, ("no.such.key", "1")),)
        yield (change(resource_type, name, ("no.such.key", "1", APPEND)),)
        yield (change(resource_type, name, ("no.such.key", None, DELETE)),)
        yield (change(resource_type, name, ("", "1")),)
        yield (change(resource_type, name, (key, None), legacy=True),)
        yield (change(resource_type, name, (key, "46000"), (key, "46000"), legacy=True),)
        yield (change(resource_type, name, ("no.such.key", "1"), legacy=True),)
        yield (change(resource_type, name, legacy=True),)
    yield (
        change(TOPIC, ORDERS, ("retention.ms", "x")),
        change(TOPIC, OTHER_TOPIC, ("retention.ms", "1")),
        change(BROKER, "1", ("num.io.threads", "9")),
        change(BROKER, "", ("num.io.threads", "99")),
        change(GROUP, "readers", ("consumer.session.timeout.ms", "1")),
    )


def _names() -> Iterator[tuple[ResourceChange, ...]]:
    """Names that may not be, and in which order that is said."""
    for name in ("2", "01", "+1", "one", " 1", "1.0", "-1", "99999999999", "\u0661"):
        yield (change(BROKER, name, ("num.io.threads", "9")),)
        yield (change(BROKER, name, ("num.io.threads", "x"), ("node.id", "2")),)
        yield (change(LOGGER, name, ("kafka", "INFO")),)
    for name in ("", ".", "..", "a" * 249, "a" * 250, "a b", "\u00e9", "absent", "__consumer_offsets"):
        yield (change(TOPIC, name, ("retention.ms", "1")),)
        yield (change(TOPIC, name, ("retention.ms", "x")),)
        yield (change(TOPIC, name, ("no.such.key", "x")),)
        yield (change(GROUP, name, ("consumer.session.timeout.ms", "46000")),)
        yield (change(METRICS, name, ("interval.ms", "100")),)
    yield (change(GROUP, "", ("no.such.key", "x")),)
    yield (change(METRICS, "", ("no.such.key", "x")),)


def _orders_of_checks() -> Iterator[tuple[ResourceChange, ...]]:
    """Two things wrong at once: which is said."""
    for entries in (
        (("node.id", "2"), ("num.io.threads", "x")),
        (("node.id", "2"), ("ssl.keystore.location", "x")),
        (("ssl.keystore.location", "x"), ("num.io.threads", "x")),
        (("num.io.threads", "x"), ("listeners", BOTH)),
        (("num.io.threads", "99"), ("listeners", "x")),
        (("num.io.threads", "99"), ("log.retention.ms", "0")),
        (("num.io.threads", "x", 7), ("node.id", "2")),
        (("num.io.threads", "x", APPEND), ("node.id", "2")),
        (("unknown", "x", APPEND), ("node.id", "2")),
        (("unknown", "x"), ("num.io.threads", "99")),
        (("num.io.threads", "99"), ("num.network.threads", "99")),
        (("num.io.threads", "99"), ("log.local.retention.ms", "-1")),
        (("num.io.threads", "99"), ("log.cleaner.threads", "99")),
        (("num.io.threads", "99"), ("remote.log.reader.threads", "99")),
        (("log.roll.ms", "0"), ("log.retention.ms", "0")),
        (("max.connections", "0"), ("num.network.threads", "99")),
        (("metric.reporters", "x"), ("num.io.threads", "99")),
        (("controller.quorum.voters", "x"), ("process.roles", "x"), ("node.id", "9")),
    ):
        yield (change(BROKER, "1", *entries),)
        yield (change(BROKER, "", *entries),)


def _brokers() -> Iterator[tuple[ResourceChange, ...]]:
    """Cross-checks of one broker's whole configuration; asked under every static configuration."""
    sizes = ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "14", "15", "16", "17", "20", "21", "99")
    for key in (
        "num.io.threads", "num.network.threads", "num.replica.fetchers", "background.threads",
        "num.recovery.threads.per.data.dir", "log.cleaner.threads", "remote.log.reader.threads",
        "remote.log.manager.copier.thread.pool.size", "remote.log.manager.follower.thread.pool.size",
        "listener.name.plaintext.num.network.threads", "listener.name.external.num.network.threads",
    ):  # fmt: skip
        for size in sizes:
            yield (change(BROKER, "1", (key, size)),)
    for size in ("4", "16", "17", "1"):
        yield (change(BROKER, "", ("num.io.threads", size)),)
        yield (change(BROKER, "", ("num.network.threads", size)),)
        yield (change(BROKER, "", ("listener.name.plaintext.num.network.threads", size)),)
    for key in ("log.flush.interval.ms", "compression.type", "message.max.bytes", "log.cleaner.backoff.ms"):
        yield (change(BROKER, "1", (key, {"compression.type": "gzip"}.get(key, "1000"))),)
        yield (change(BROKER, "1", (key, None, DELETE)),)
    for legacy in (
        (("num.io.threads", "9"), ("log.retention.ms", "5")),
        (("num.io.threads", "99"),),
        (("node.id", "1"),),
    ):
        yield (change(BROKER, "1", *legacy, legacy=True),)
        yield (change(BROKER, "", *legacy, legacy=True),)


def _logs() -> Iterator[tuple[ResourceChange, ...]]:
    """Retention, the cleaner, and the groups' intervals."""
    for milliseconds in (
        "-2",
        "-1",
        "0",
        "1",
        "299999",
        "300000",
        "300001",
        "600000",
        "600001",
        "604800000",
        "604800001",
    ):
        for key in ("log.retention.ms", "log.local.retention.ms", "log.roll.ms", "log.roll.jitter.ms"):
            yield (change(BROKER, "", (key, milliseconds)),)
        yield (change(BROKER, "1", ("log.local.retention.ms", milliseconds), ("log.retention.ms", "300000")),)
        yield (change(BROKER, "1", ("log.local.retention.ms", milliseconds), ("log.retention.ms", "-1")),)
    for size in ("-2", "-1", "0", "1", "3999999", "4000000", "5000000", "5000001"):
        yield (change(BROKER, "", ("log.retention.bytes", size)),)
        yield (change(BROKER, "", ("log.local.retention.bytes", size)),)
        yield (change(BROKER, "1", ("log.local.retention.bytes", size), ("log.retention.bytes", "4000000")),)
    for threads in ("0", "1", "2", "3", "6"):
        for size in ("-5", "0", "1048576", "1048577", "3145728", "3145731", "6291456", "6291462", "12582912"):
            yield (change(BROKER, "1", ("log.cleaner.threads", threads), ("log.cleaner.dedupe.buffer.size", size)),)
    for key in ("consumer", "share", "streams"):
        for interval in ("0", "499", "500", "1000", "2000", "2001", "15000", "15001", "60000"):
            yield (change(BROKER, "", (f"group.{key}.assignment.interval.ms", interval)),)


def _connections() -> Iterator[tuple[ResourceChange, ...]]:
    per_ip, overrides = "max.connections.per.ip", "max.connections.per.ip.overrides"
    for text in (
        "", "127.0.0.1:5", "127.0.0.1:5,10.0.0.1:6", "127.0.0.1:x", "127.0.0.1", ":5", "127.0.0.1:", "host:1:2",
        "::1:5", "a b:5", "a/b:5,c:6", ",", ",a:1", "a:1,", " a : 1 , b : 2 ", "a:99999999999", "a:-1", "a:+1",
        "a:1,a:2",
    ):  # fmt: skip
        yield (change(BROKER, "", (overrides, text)),)
        yield (change(BROKER, "", (overrides, text), (per_ip, "0")),)
    for text in ("0", "1", "-1"):
        yield (change(BROKER, "1", (per_ip, text)),)
        for key in ("max.connections", "max.connection.creation.rate"):
            for prefix in ("", "listener.name.plaintext.", "listener.name.external.", "listener.name.absent."):
                yield (change(BROKER, "1", (f"{prefix}{key}", text)),)
                yield (change(BROKER, "", (f"{prefix}{key}", text)),)


def _listeners() -> Iterator[tuple[ResourceChange, ...]]:
    key, protocols = "listeners", "listener.security.protocol.map"
    for text in (
        BOTH, HERE, CONTROLLER, "", "x", "PLAINTEXT", "PLAINTEXT:", "PLAINTEXT://", "://:1", " ://:1", "x://y",
        f"{BOTH},EXT://:1234", f"{BOTH},EXT", f"{BOTH},plaintext://:1234", f"{BOTH},SSL://:1234",
        f"{BOTH},PLAINTEXT://127.0.0.1:@CONTROLLER@", "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        f"PLAINTEXT://0.0.0.0:@BROKER@,{CONTROLLER}", f"PLAINTEXT://:@BROKER@,{CONTROLLER}",
        f"PLAINTEXT://[::1]:@BROKER@,{CONTROLLER}", f"PLAINTEXT://h:99999999999,{CONTROLLER}",
        f"PLAINTEXT://h:-5,{CONTROLLER}", f"PLAINTEXT://h/:5,{CONTROLLER}", f"plaintext://127.0.0.1:@BROKER@,{CONTROLLER}",
        f"PLAINTEXT://127.0.0.1:@CONTROLLER@,{CONTROLLER}", f"PLAINTEXT://[::1]:@CONTROLLER@,{CONTROLLER}",
        f"PLAINTEXT://host:@CONTROLLER@,{CONTROLLER}", "PLAINTEXT://host:5,CONTROLLER://other:5",
        f"{BOTH},SPARE://127.0.0.1:0", f"{BOTH},INTERNAL://127.0.0.1:0,EXTERNAL://127.0.0.1:0",
        f"{BOTH},INTERNAL://127.0.0.1:0", f"{HERE},EXTERNAL://127.0.0.1:0", f"{HERE},SPARE://127.0.0.1:0",
    ):  # fmt: skip
        yield (change(BROKER, "1", (key, text)),)
        yield (
            change(BROKER, "1", (key, text), (protocols, f"{MAP},EXT:PLAINTEXT,INTERNAL:SASL_PLAINTEXT,EXTERNAL:SSL")),
        )
    for text in (
        MAP, "", "x", "PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", f"{MAP},EXT:NONE", f"{MAP},EXT:plaintext",
        f"{MAP},plaintext:SSL", f"{MAP},:SSL", f"{MAP},EXT", "CONTROLLER:PLAINTEXT,PLAINTEXT:SSL",
        "CONTROLLER:SSL,PLAINTEXT:PLAINTEXT", f"{MAP},EXT:SSL", f"{MAP},INTERNAL:SASL_PLAINTEXT,EXTERNAL:PLAINTEXT",
        f"{MAP},INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT", " CONTROLLER : PLAINTEXT , PLAINTEXT : PLAINTEXT ",
    ):  # fmt: skip
        yield (change(BROKER, "1", (protocols, text)),)
    yield (change(BROKER, "", (key, BOTH)),)


def _security() -> Iterator[tuple[ResourceChange, ...]]:
    enabled, mechanism = "sasl.enabled.mechanisms", "sasl.mechanism.inter.broker.protocol"
    for prefix in ("", "listener.name.internal.", "listener.name.plaintext.", "listener.name.absent."):
        for text in ("PLAIN", "GSSAPI", "SCRAM-SHA-256,PLAIN", "", "plain"):
            yield (change(BROKER, "1", (f"{prefix}{enabled}", text)),)
            yield (change(BROKER, "1", (f"{prefix}{enabled}", text), ("num.network.threads", "4")),)
        yield (change(BROKER, "1", (f"{prefix}{enabled}", "SCRAM-SHA-256", APPEND)),)
        yield (change(BROKER, "1", (f"{prefix}sasl.jaas.config", "x")),)
        yield (change(BROKER, "1", (f"{prefix}plain.sasl.jaas.config", "x")),)
        yield (change(BROKER, "1", (f"{prefix}plain.sasl.jaas.config", "x"), ("max.connections", "500")),)
        yield (change(BROKER, "1", (f"{prefix}connections.max.reauth.ms", "x")),)
        yield (change(BROKER, "1", (f"{prefix}plain.connections.max.reauth.ms", "x")),)
        yield (change(BROKER, "1", (f"{prefix}plain.connections.max.reauth.ms", "5")),)
        yield (change(BROKER, "1", (f"{prefix}ssl.keystore.location", "/no/such/file")),)
        yield (change(BROKER, "1", (f"{prefix}ssl.keystore.location", "/no/such/file"), ("num.network.threads", "4")),)
        yield (change(BROKER, "1", (f"{prefix}ssl.keystore.password", "secret")),)
        yield (change(BROKER, "", (f"{prefix}ssl.keystore.password", "secret")),)
        yield (change(BROKER, "1", (f"{prefix}node.id", "5")),)
        yield (change(BROKER, "1", (f"{prefix}process.roles", "x"), ("listeners", BOTH)),)
        yield (change(BROKER, "1", (f"{prefix}principal.builder.class", "no.such.Class")),)
        yield (change(BROKER, "1", (f"{prefix}unheard.of", "x")),)
        yield (change(BROKER, "1", (f"{prefix}unheard.of", "x"), ("num.network.threads", "4")),)
    for text in ("PLAIN", "GSSAPI", "", "SCRAM-SHA-512"):
        yield (change(BROKER, "1", (mechanism, text)),)
    for text in (
        "org.apache.kafka.common.metrics.JmxReporter",
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    ):
        yield (change(BROKER, "1", ("principal.builder.class", text)),)
    for text in ("org.apache.kafka.common.metrics.JmxReporter", "no.such.Class", "", "a,b"):
        yield (change(BROKER, "", ("metric.reporters", text)),)
    yield (change(BROKER, "", ("metric.reporters", "no.such.Class", APPEND)),)
    yield (change(BROKER, "", ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter", SUBTRACT)),)
    for text in (".*", "[", "a{2,1}", "(?<n>a)", "", "*", "\\Qa(\\E"):
        yield (change(BROKER, "", ("metrics.jmx.include", text)),)
        yield (change(BROKER, "1", ("metrics.jmx.exclude", text)),)


def _directories() -> Iterator[tuple[ResourceChange, ...]]:
    for text in (
        "",
        "*",
        "*,x",
        "@DATA@",
        "@DATA@-second",
        "@DATA@,@DATA@-second",
        "/x",
        "@DATA@,/x,/y",
        " @DATA@ ",
        ",",
    ):
        yield (change(BROKER, "1", ("cordoned.log.dirs", text)),)
        yield (change(BROKER, "1", ("cordoned.log.dirs", text, APPEND)),)
    yield (change(BROKER, "1", ("cordoned.log.dirs", "@DATA@", SUBTRACT)),)
    yield (change(BROKER, "1", ("cordoned.log.dirs", None, DELETE)),)
    yield (change(BROKER, "", ("cordoned.log.dirs", "")),)
    for name in ("1", ""):
        yield (change(BROKER, name, ("min.insync.replicas", "2")),)
        yield (change(BROKER, name, ("min.insync.replicas", None, DELETE)),)
        yield (change(BROKER, name, ("min.insync.replicas", "0")),)
        yield (change(BROKER, name, ("min.insync.replicas", "2"), legacy=True),)
    for text in ("x", "1,2", "a" * 40):
        yield (change(BROKER, "", ("config.providers", text)),)
    yield (change(BROKER, "", ("config.providers.file.class", "x")),)


def _topics() -> Iterator[tuple[ResourceChange, ...]]:
    """Cross-checks of a topic's whole configuration."""
    remote = ("remote.storage.enable", "true")
    local, total = "local.retention", "retention"
    for entries in (
        (remote,),
        (remote, ("cleanup.policy", "compact")),
        (remote, ("cleanup.policy", "delete")),
        (remote, ("cleanup.policy", "delete,compact")),
        (remote, ("cleanup.policy", "")),
        (remote, ("cleanup.policy", "delete"), ("remote.log.copy.disable", "true")),
        (remote, ("cleanup.policy", "delete"), ("remote.log.copy.disable", "true"), (f"{local}.ms", "5")),
        (remote, ("cleanup.policy", "delete"), ("remote.log.copy.disable", "true"), (f"{local}.bytes", "-2")),
        (("remote.log.copy.disable", "true"),),
        (("remote.storage.enable", "false"),),
        (("remote.log.delete.on.disable", "true"),),
        (("min.compaction.lag.ms", "5"), ("max.compaction.lag.ms", "4")),
        (("min.compaction.lag.ms", "5"), ("max.compaction.lag.ms", "5")),
        (("min.compaction.lag.ms", "5500"),),
        (("min.compaction.lag.ms", "6001"),),
        (("max.compaction.lag.ms", "4999"),),
        (("max.compaction.lag.ms", "999"),),
        (("min.compaction.lag.ms", "2001"),),
        (("retention.ms", "x"), ("no.such.key", "1")),
        (("flush.ms", "5"),),
        (("flush.ms", "5"), ("retention.ms", "7")),
        (("retention.ms", "7"),),
        (("cleanup.policy", "delete", APPEND),),
        (("cleanup.policy", "compact", APPEND),),
        (("cleanup.policy", "compact,bogus", APPEND),),
        (("cleanup.policy", "delete", SUBTRACT),),
        (("cleanup.policy", "compact", SUBTRACT),),
        (("cleanup.policy", " delete", SUBTRACT),),
        (("retention.ms", "5", APPEND), ("no.such.key", "1")),
        (("leader.replication.throttled.replicas", "0:1", APPEND),),
        (("leader.replication.throttled.replicas", "0:1,x", APPEND),),
        (("min.insync.replicas", "2"),),
    ):
        yield (change(TOPIC, ORDERS, *entries),)
    for unit, values in (
        ("ms", ("-2", "-1", "0", "600000", "600001")),
        ("bytes", ("-2", "-1", "0", "999", "1000", "1001")),
    ):
        for value in values:
            cleanup = ("cleanup.policy", "delete")
            yield (change(TOPIC, ORDERS, remote, cleanup, (f"{local}.{unit}", value)),)
            yield (change(TOPIC, ORDERS, remote, cleanup, (f"{total}.{unit}", value)),)
            yield (change(TOPIC, ORDERS, remote, cleanup, (f"{total}.{unit}", value), (f"{local}.{unit}", "-1")),)
            yield (change(TOPIC, ORDERS, (f"{local}.{unit}", value)),)


def _groups() -> Iterator[tuple[ResourceChange, ...]]:
    for key, values in (
        (
            "consumer.session.timeout.ms",
            ("44999", "45000", "46000", "50000", "55000", "55001", "60000", "60001", "5000"),
        ),
        ("consumer.heartbeat.interval.ms", ("4999", "5000", "5499", "5500", "6000", "15000", "15001")),
        ("consumer.assignment.interval.ms", ("0", "999", "1000", "1500", "1501", "15000", "15001")),
        ("share.session.timeout.ms", ("44999", "45000", "60000", "60001")),
        ("share.heartbeat.interval.ms", ("4999", "5000", "15000", "15001")),
        ("share.record.lock.duration.ms", ("1000", "14999", "15000", "19999", "20000", "60000", "60001")),
        ("share.delivery.count.limit", ("1", "2", "5", "6", "7", "10", "11")),
        ("share.partition.max.record.locks", ("99", "100", "2000", "3000", "3001", "10000", "10001")),
        ("share.assignment.interval.ms", ("0", "15000", "15001")),
        ("streams.session.timeout.ms", ("44999", "45000", "60000", "60001")),
        ("streams.heartbeat.interval.ms", ("4999", "5000", "15000", "15001")),
        ("streams.num.standby.replicas", ("0", "1", "2", "3")),
        ("streams.assignment.interval.ms", ("0", "15000", "15001")),
        (
            "share.auto.offset.reset",
            ("earliest", "latest", "by_duration:PT1H", "by_duration:-PT1H", "by_duration:x", "none"),
        ),
        ("share.isolation.level", ("read_committed", "READ_COMMITTED", "x")),
    ):
        for value in values:
            yield (change(GROUP, "readers", (key, value)),)
    yield (change(GROUP, "readers", ("consumer.session.timeout.ms", "1"), ("no.such.key", "1")),)
    yield (
        change(GROUP, "readers", ("consumer.session.timeout.ms", "45000"), ("consumer.heartbeat.interval.ms", "15000")),
    )


def _metrics() -> Iterator[tuple[ResourceChange, ...]]:
    for key, values in (
        ("interval.ms", ("99", "100", "3600000", "3600001", "x")),
        ("metrics", ("", "*", "org.apache.kafka.producer.", "a,,b", "a,a")),
        ("match", (
            "", "client_id=a", "client_id", "client_id=", "=a", "client_id=a=b", "client_id=[", "client_id=a*+",
            " client_id = a ", "bogus=a", "client_id=a,client_source_port=1.*", "client_id=(?<x>a)\\\\k<x>",
            "client_id=a,b",
            "client_id=*", "client_id=a{2}", "client_id=a{", "client_id=)", "client_id=\\\\", "client_id=\\\\p{Lu}",
            "client_id=\\\\p{Nope}", "client_id=(?i)a", "client_id=(?y)a", "client_id=[a&&[b]]", "client_id=a++",
        )),
    ):  # fmt: skip
        for value in values:
            yield (change(METRICS, "subscription", (key, value.replace("\\\\", "\\"))),)
    yield (change(METRICS, "subscription", ("metrics", "a", APPEND)),)
    yield (change(METRICS, "subscription", ("interval.ms", "x"), ("bogus", "1")),)


def _loggers() -> Iterator[tuple[ResourceChange, ...]]:
    for name in ("root", "kafka", "no.such.logger", "kafka.server.BrokerServer"):
        for level in ("INFO", "FATAL", "info", "", "OFF", "TRACE"):
            yield (change(LOGGER, "1", (name, level)),)
        for operation in (DELETE, APPEND, SUBTRACT):
            yield (change(LOGGER, "1", (name, "INFO", operation)),)
    yield (change(LOGGER, "1", ("kafka", "INFO"), ("no.such.logger", "INFO"), ("root", None, DELETE)),)
    yield (change(LOGGER, "1", ("kafka", "INFO"), legacy=True),)
    yield (change(LOGGER, "", ("kafka", "INFO")),)


def _cases(configuration: str, requests: Iterator[tuple[ResourceChange, ...]]) -> Iterator[Case]:
    for request in requests:
        yield Case(configuration, (request,))


def everywhere(configuration: str) -> Iterator[Case]:
    """Cross-checks, asked under every static configuration."""
    for requests in (_brokers, _logs, _connections, _listeners, _security, _directories, _topics, _groups):
        yield from _cases(configuration, requests())


def once(configuration: str = "plain") -> Iterator[Case]:
    """What no static configuration changes."""
    for requests in (_shapes, _names, _orders_of_checks, _metrics, _loggers):
        yield from _cases(configuration, requests())
