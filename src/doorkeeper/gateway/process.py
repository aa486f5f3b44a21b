"""One gateway process: opens the doors, follows the cluster, and drains at the end. The only place tasks start."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, Final

from doorkeeper.door.verdicts import VerdictRecord
from doorkeeper.errors import DoorkeeperError, NetworkError
from doorkeeper.gateway.address_table import NodeKind
from doorkeeper.gateway.config_judge_on_demand import ConfigJudgeOnDemand
from doorkeeper.gateway.doors import SWEEPS_PER_IDLE_TIME, Population
from doorkeeper.gateway.gatekeeper import House
from doorkeeper.gateway.identity_log import IdentityLog
from doorkeeper.gateway.judging import Judge
from doorkeeper.gateway.offered import Offered
from doorkeeper.gateway.plans import Plans
from doorkeeper.gateway.settings import GatewaySettings
from doorkeeper.gateway.street import OpenDoor, Street
from doorkeeper.gateway.telemetry import Sample
from doorkeeper.gateway.tls import load_files, server_context
from doorkeeper.gateway.upstream import Opener, describe_nodes
from doorkeeper.net.line_log import LineLog

LOGGER: Final = logging.getLogger("doorkeeper.gateway")
SHORTEST_SWEEP_SECONDS: Final = 0.1


class GatewayProcess:
    """`start`, then `stop`; `doors` says where it listens."""

    def __init__(self, settings: GatewaySettings, *, reuse_port: bool = False) -> None:
        """:raises InputError: when a file of the settings can't be used.
        :raises OSError: when a log can't be opened.
        """
        self.settings = settings
        self._plans = Plans(
            settings.modes, unstable_versions=settings.unstable_versions, pass_unknown=settings.pass_unknown
        )
        self._logs: list[LineLog] = []
        self._closing = ExitStack()
        self._verdicts = self._open_log("verdict_log")
        identities = self._open_log("identity_log")
        self.judge = Judge(settings.modes, self._write_verdict, time.time)
        self._opener = Opener(settings.client_id, settings.security)
        self._tls: ssl.SSLContext | None = None if settings.tls is None else server_context(settings.tls)
        self._offered = Offered(self._plans)
        house = House(
            self._plans,
            self.judge,
            self._offered,
            ConfigJudgeOnDemand(self.judge, self._opener, lambda: self.street.bootstrap_addresses(NodeKind.BROKER)),
            None if identities is None else IdentityLog(identities.write, time.time),
        )
        self.population = Population(settings.limits)
        self.street = Street(settings, house, self.population, self._spawn, self._tls, reuse_port=reuse_port)
        self.is_ready = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def doors(self) -> list[OpenDoor]:
        """Where it listens: the bootstrap addresses first."""
        return self.street.doors

    async def start(self) -> None:
        """Open the bootstrap doors, then ask the cluster for its nodes and open theirs.

        :raises InputError: when an address can't be had, or the ports don't suffice for the nodes.
        :raises StorageError: when the map of node ports can't be kept.
        """
        await self.street.open()
        await self.refresh()
        for error in self.street.topology.unreachable.values():
            raise error
        self._spawn(self._keep_refreshing())
        self._spawn(self._keep_sweeping())

    async def stop(self) -> None:
        """Take no more connections and requests, let what was asked be answered, close."""
        self.is_ready = False
        for task in list(self._tasks):
            task.cancel()
        self.street.close()
        left = await self.population.drain(self.settings.limits.drain_seconds)
        if left:
            LOGGER.warning("%d connections did not drain in %g s", left, self.settings.limits.drain_seconds)
        self._closing.close()

    def change(self, settings: GatewaySettings) -> list[str]:
        """Take other settings while running, on open connections too; returns what only a restart can change.

        :raises InputError: when a file of the settings can't be used: then nothing changes.
        """
        if settings.tls is not None and self._tls is not None:
            server_context(settings.tls)  # may raise: before anything has changed
            load_files(self._tls, settings.tls)
        before, self.settings = self.settings, settings
        self._plans.change(
            settings.modes, unstable_versions=settings.unstable_versions, pass_unknown=settings.pass_unknown
        )
        self._offered.forget()
        self.judge.modes = settings.modes
        self.population.limits = settings.limits
        self.street.change(settings)
        fixed = ("sni_domain", "state", "verdict_log", "identity_log", "http", "proxy_protocol", "client_id")
        kept = [name for name in fixed if getattr(before, name) != getattr(settings, name)]
        kept += [] if (before.tls is None) == (settings.tls is None) else ["tls"]
        return kept + self.street.unchangeable(before, settings)

    def samples(self) -> list[Sample]:
        """What has been counted."""
        population, judge = self.population, self.judge
        topology = self.street.topology
        plain: dict[str, float] = {
            "connections": len(population.connections),
            "connections_accepted": population.accepted,
            "connections_refused": population.refused,
            "nodes": len(topology.nodes),
            "unreachable_nodes": len(topology.unreachable),
            "log_lines_lost": sum(one.dropped + one.failed for one in self._logs),
            "ready": float(self.is_ready),
        }
        samples = [Sample(f"doorkeeper_gateway_{name}", (), value) for name, value in plain.items()]
        received = (("client", population.from_clients), ("upstream", population.from_upstream))
        samples += [Sample("doorkeeper_gateway_received_bytes", (("side", one),), value) for one, value in received]
        samples += [
            Sample("doorkeeper_gateway_judge_failures", (("fault", name),), count)
            for name, count in judge.failures.items()
        ]
        return samples + judge.offenders.samples()

    # -- logs

    def _open_log(self, name: str) -> LineLog | None:
        path = getattr(self.settings, name)
        if path is None:
            return None
        log = LineLog(path)
        self._logs.append(log)
        self._closing.callback(log.close)
        return log

    def _write_verdict(self, record: VerdictRecord) -> None:
        if self._verdicts is None:
            LOGGER.info("%s", record.to_json())
        else:
            self._verdicts.write(record.to_json())

    # -- following the cluster

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def refresh(self) -> None:
        """Ask the cluster for its nodes; what can't be asked is learnt from the responses that pass."""
        ready = True
        for kind in self.street.kinds:
            try:
                nodes = await self._describe(kind)
            except DoorkeeperError as error:
                LOGGER.warning("the cluster's %ss can't be asked for: %s", kind, error)
                ready = False
                continue
            self.street.topology.survey(kind, nodes)
        self.is_ready = ready

    async def _describe(self, kind: NodeKind) -> list[tuple[int, str, int]]:
        faults = []
        for host, port in self.street.bootstrap_addresses(kind):
            try:
                requester = await self._opener(host, port)
            except DoorkeeperError as error:
                faults.append(str(error))
                continue
            try:
                return await describe_nodes(kind, requester)
            except DoorkeeperError as error:
                faults.append(str(error))
            finally:
                await requester.close()
        raise NetworkError("; ".join(faults))

    async def _keep_refreshing(self) -> None:
        while True:
            await asyncio.sleep(self.settings.refresh_seconds)
            await self.refresh()

    async def _keep_sweeping(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            delay = max(self.settings.limits.idle_seconds / SWEEPS_PER_IDLE_TIME, SHORTEST_SWEEP_SECONDS)
            await asyncio.sleep(delay)
            self.population.close_idle(loop.time())
