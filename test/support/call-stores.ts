import { type BatchResults, createBatchStore } from '../../src/accounting/batches/store.ts';
import type { BillingTime } from '../../src/accounting/pricing/running-periods.ts';
import type { AdmissionTerms } from '../../src/accounting/reservations/account-state.ts';
import type { LockMode } from '../../src/accounting/reservations/locked-accounts.ts';
import type { ReservationRequest } from '../../src/accounting/reservations/reservation.ts';
import { createReservationStore, type ReservationStore } from '../../src/accounting/reservations/store.ts';
import type { SettlementRecord } from '../../src/accounting/settlement/settlement-record.ts';
import { createSettlementStore, type SettlementStore } from '../../src/accounting/settlement/store.ts';
import type { Database } from '../../src/db/database.ts';
import { inOneDatabase } from './in-one-database.ts';

/** Stores with only the half of a batch that a test needs: admissions or ends. */

export interface TestReservationStore extends ReservationStore {
  admit<Locks extends LockMode = 'all'>(
    requests: readonly ReservationRequest[],
    terms: AdmissionTerms,
    locks?: Locks,
    signal?: AbortSignal,
  ): Promise<BatchResults<Locks>['admissions']>;
}

export interface TestSettlementStore extends SettlementStore {
  end<Locks extends LockMode = 'all'>(
    records: readonly SettlementRecord[],
    time: BillingTime,
    locks?: Locks,
    signal?: AbortSignal,
  ): Promise<BatchResults<Locks>['ends']>;
}

export function createTestReservationStore(database: Database): TestReservationStore {
  const batches = createBatchStore(database);
  return {
    ...createReservationStore(inOneDatabase(database)),
    async admit(requests, terms, locks, signal) {
      return (await batches.run({ ends: [], admissions: requests }, terms, locks, signal)).admissions;
    },
  };
}

export function createTestSettlementStore(database: Database): TestSettlementStore {
  const batches = createBatchStore(database);
  return {
    ...createSettlementStore(database),
    async end(records, time, locks, signal) {
      return (await batches.run({ ends: records, admissions: [] }, endTerms(time), locks, signal)).ends;
    },
  };
}

/** Terms for batches without admissions: only the time is used. */
function endTerms({ nowMs, periodsAt }: BillingTime): AdmissionTerms {
  const plans = new Map();
  return {
    nowMs,
    plans,
    rateDefaults: null,
    contextAt: (epochMs) => ({
      ...periodsAt(epochMs),
      defaultDailyCapNano: null,
      rateDefaults: null,
      plans,
      nodeId: 'node_test',
    }),
  };
}
