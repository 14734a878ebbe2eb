import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionsOf, planScale } from './scale-plan.ts';

const COSTS = { gatewayMicros: 500, databaseMicros: 400, logBytes: 2_000, storedBytes: 1_000 };
const ORDER = {
  callsPerSecond: 10_000,
  accounts: 100_000,
  gatewayCores: 4,
  databaseCores: 4,
  utilisation: 0.5,
  partitionsAWorker: 4,
  callsAPartition: 2_000,
  logMbAWorker: 20,
  keptDays: 10,
  averageOfPeak: 0.5,
};

describe('a plan for many calls', () => {
  it('has enough cores for the CPU of all calls, and one more gateway', () => {
    const plan = planScale(COSTS, ORDER);
    // 5 and 4 busy cores; plans for 2 on each machine.
    assert.deepEqual([plan.gatewayNodes, plan.gatewayProcesses, plan.databaseWorkers], [4, 16, 2]);
    assert.deepEqual([plan.partitions, plan.accountsAPartition, plan.callsAPartition], [8, 12_500, 1_250]);
  });

  it('has more partitions or workers if the calls or the log require them', () => {
    assert.equal(planScale(COSTS, { ...ORDER, callsAPartition: 500 }).partitions, 20);
    const logged = planScale(COSTS, { ...ORDER, logMbAWorker: 4 });
    assert.deepEqual([logged.databaseWorkers, logged.partitions, logged.logMbAWorker], [5, 20, 4]);
  });

  it('has the maximum number of connections', () => {
    assert.deepEqual([connectionsOf(1, true), connectionsOf(2, true), connectionsOf(4, false)], [25, 22, 11]);
    const plan = planScale(COSTS, ORDER);
    assert.equal(plan.connectionsAProcess, connectionsOf(8, true) + 7 * connectionsOf(8, false));
    assert.equal(plan.connectionsAWorker, 16 * 4 * connectionsOf(8, false));
  });

  it('has the log volume and storage of workers', () => {
    const plan = planScale(COSTS, ORDER);
    assert.equal(plan.logMbAWorker, 10);
    assert.equal(plan.storedTbAWorker, (5_000 * 86_400 * 10 * 1_000) / 2 / 1e12);
  });
});
